package sweep

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
)

// Unit is the unit in which a setting's values are stored.
type Unit uint8

const (
	Words     Unit = iota // words, not numbers
	Durations             // nanoseconds
	Counts
	Rates // parts per million, written in ppm or in percent
)

// Level is a setting's value in a sweep: a number or a word.
type Level struct {
	Unit Unit
	N    int64  // value in the key's unit; zero for a word
	Text string // the value as written in a scenario file
}

// number returns the Level that stands for the number n in a sweep over key k.
func (k *Key) number(n int64) Level {
	l := Level{Unit: k.Unit, N: n}
	switch {
	case k.Unit == Durations:
		l.Text = nemesis.FormatDuration(time.Duration(n))
	case k.Unit == Rates && k.percent:
		l.Text = strconv.FormatFloat(float64(n)/1e4, 'f', -1, 64) + "%"
	case k.Unit == Rates:
		l.Text = strconv.FormatInt(n, 10) + "ppm"
	default:
		l.Text = strconv.FormatInt(n, 10)
	}
	return l
}

// parseNumber parses a number in the key's unit.
func (k *Key) parseNumber(text string) (int64, error) {
	text = strings.TrimSpace(text)
	switch k.Unit {
	case Durations:
		return parseSigned(text)
	case Rates:
		return k.parseRate(text)
	case Counts:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%s is a count: expected a whole number such as 5, found %q", k.Path, text)
		}
		return n, nil
	}
	return 0, fmt.Errorf("the values of %s are words, not numbers: list them, as in %s=a,b,c", k.Path, k.Path)
}

// parseSigned parses a duration and returns it in nanoseconds. The duration may be negative, because clocks can also
// jump back.
func parseSigned(text string) (int64, error) {
	rest, negative := strings.CutPrefix(text, "-")
	d, err := nemesis.ParseDuration(rest)
	var bad *nemesis.ParseError
	if errors.As(err, &bad) {
		if negative && bad.Nearest != "" {
			bad.Nearest = "-" + bad.Nearest
		}
		if _, err := strconv.ParseFloat(rest, 64); err == nil && negative {
			bad.Msg = strings.TrimSuffix(bad.Msg, nemesis.WithUnit("", rest)) + nemesis.WithUnit("-", rest)
		}
		return 0, meaning(fmt.Sprintf("%s, found %q", bad.Msg, text), bad.Nearest)
	}
	if negative {
		d = -d
	}
	return int64(d), nil
}

// parseRate parses a rate in ppm or percent and returns it in parts per million.
func (k *Key) parseRate(text string) (int64, error) {
	digits, isPPM := strings.CutSuffix(text, "ppm")
	if isPPM {
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil {
			return n, nil
		}
	}
	digits, isPercent := strings.CutSuffix(text, "%")
	if v, err := strconv.ParseFloat(digits, 64); isPercent && err == nil && math.Abs(v) <= 100 {
		if ppm := math.Round(v * 1e4); math.Abs(float64(v*1e4)-ppm) < 1e-6 {
			return int64(ppm), nil
		}
	}
	nearest := ""
	if _, err := strconv.ParseInt(text, 10, 32); err == nil {
		nearest = text + "ppm"
		if k.percent {
			nearest = text + "%"
		}
	}
	return 0, meaning(fmt.Sprintf("%s is a rate: expected one such as -20000ppm or 1%%, found %q", k.Path, text),
		nearest)
}

// meaning returns an error with the given message. If nearest is not empty, the error also suggests it.
func meaning(message, nearest string) error {
	if nearest == "" {
		return errors.New(message)
	}
	return fmt.Errorf("%s (did you mean %q?)", message, nearest)
}
