package format

import (
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// Kind is the syntax of a key's value. A key may also accept certain words.
type Kind uint8

// The kinds of values that a key may accept.
const (
	Word      Kind = iota // one of Words and nothing else
	Duration              // "500ms"
	Delay                 // "50ms", or a range: "50ms..250ms"
	Count                 // "5"
	Allowance             // "1% + 2ms", or only one of these parts
	Share                 // a share of messages and their delay: "1% 10ms..50ms"
	Name                  // letters, digits and the characters - _ . : / { }
	Mapping               // a mapping; the paths of its keys begin with this key's path and a dot
)

// Form describes the values that a key accepts.
type Form struct {
	Kind        Kind
	Words       []string
	Least, Most int64 // limits of a Count, or of a Duration in ns; for a Duration, Most 0 means no limit
	Step        int64 // for a Duration, in ns: the value must be a multiple of Step; 0: any value
	Required    bool  // the key must be present
	// Recurs is set if the duration is the period of something that repeats during a hold, a wait or a run, such as
	// attempts, extensions or checks of a master. The duration, or the upper end of a delay, must then be at least
	// shortestPeriod, because shorter periods would dominate the run.
	Recurs bool
	// Zero is the real server's error message for the value 0, if 0 is below Least. It is empty if the server has no
	// such message.
	Zero string
}

// shortestPeriod is the shortest duration that a key with Form.Recurs accepts.
const shortestPeriod = time.Millisecond

// Recurring returns the key with Form.Recurs set.
func (k Key[T]) Recurring() Key[T] { return k.With(func(f *Form) { f.Recurs = true }) }

// Refusing returns a key that rejects 0 with the real server's error message.
func (k Key[T]) Refusing(said string) Key[T] { return k.With(func(f *Form) { f.Zero = said }) }

// Value is a value read from a file: a word, or numbers in the unit of its kind.
type Value struct {
	Word string
	// N is a duration in ns, a count, or a rate in millionths. From and To are the bounds of a delay in ns. If the
	// value is an allowance, such as 1% + 2ms, N is its rate and From its constant part in ns.
	N        int64
	From, To int64
}

// Key describes a key in scenario files. Its value is stored in a T.
type Key[T any] struct {
	Path     string // keys of nested mappings, separated by dots: "retry.delay"
	Form     Form
	Standard Value  // the default, unless Depends is set
	Depends  string // describes the default, if it depends on other keys
	Meaning  string
	Example  string // a value to show in the example of the mapping; empty if another key is a better example
	Set      func(*T, Value)
	// Get returns the current value. For an optional mapping that is switched off, and for the keys in it, Get returns
	// the word "none".
	Get func(*T) Value
	// Wall is the word that makes the client use its wall clock, so that a jump of that clock can have an effect. It is
	// empty if there is no such word.
	Wall string
}

// With returns a copy of the key with a changed Form, for example one that accepts fewer words or a narrower range.
func (k Key[T]) With(change func(*Form)) Key[T] {
	k.Form.Words = append([]string(nil), k.Form.Words...)
	change(&k.Form)
	return k
}

// Only returns a copy of the key that accepts only the given words.
func Only[T any, V ~string](k Key[T], words ...V) Key[T] {
	return k.With(func(f *Form) {
		f.Words = nil
		for _, w := range words {
			f.Words = append(f.Words, string(w))
		}
	})
}

// Standing returns a copy of the key with the given default.
func (k Key[T]) Standing(v Value) Key[T] {
	k.Standard, k.Depends = v, ""
	return k
}

// OnWall returns the key with Wall set to the word that makes the client use its wall clock.
func (k Key[T]) OnWall(word string) Key[T] {
	k.Wall = word
	return k
}

// Showing returns the key with Example set to the given value. The example of the mapping that contains the key then
// shows this value.
func (k Key[T]) Showing(value string) Key[T] {
	k.Example = value
	return k
}

// Depending returns the key with a default that depends on other keys, as described by the given words.
func (k Key[T]) Depending(words string) Key[T] {
	k.Depends = words
	return k
}

// Number returns a value of this form as a single number. It returns false for a word, for a range, for an allowance
// with a constant part, and for a number below Least, which means that the key is not in use.
func (f *Form) Number(v Value) (int64, bool) {
	switch {
	case v.Word != "":
		return 0, false
	case f.Kind == Delay:
		return v.From, v.From == v.To
	case f.Kind == Allowance:
		return v.N, v.From == 0
	case f.Kind == Duration || f.Kind == Count:
		return v.N, v.N >= f.Least
	}
	return 0, false
}

// Nearest returns n, a duration in ns, rounded up to a multiple of Step and limited to the range from Least to Most, so
// that the form accepts it.
func (f *Form) Nearest(n int64) int64 {
	if f.Step > 1 {
		n = (n + f.Step - 1) / f.Step * f.Step
	}
	if f.Most > 0 {
		n = min(n, f.Most)
	}
	return max(n, f.Least)
}

// Text returns a value as written in a file.
func (f *Form) Text(v Value) string {
	switch {
	case v.Word != "":
		return v.Word
	case f.Kind == Duration:
		return DurationText(v.N)
	case f.Kind == Delay:
		return delayText(v)
	case f.Kind == Count:
		return strconv.FormatInt(v.N, 10)
	case f.Kind == Allowance && v.From == 0:
		return percentText(v.N)
	case f.Kind == Allowance && v.N == 0:
		return DurationText(v.From)
	case f.Kind == Allowance:
		return percentText(v.N) + " + " + DurationText(v.From)
	case f.Kind == Share:
		return percentText(v.N) + " " + delayText(v)
	}
	return ""
}

func delayText(v Value) string {
	if v.From == v.To {
		return DurationText(v.From)
	}
	return DurationText(v.From) + ".." + DurationText(v.To)
}

func percentText(ppm int64) string { return strconv.FormatFloat(float64(ppm)/1e4, 'f', -1, 64) + "%" }

// DurationText formats a duration as a whole number of seconds, milliseconds, microseconds or nanoseconds, using the
// largest unit that fits.
func DurationText(ns int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{int64(time.Second), "s"}, {int64(time.Millisecond), "ms"}, {int64(time.Microsecond), "us"}} {
		if ns%u.size == 0 {
			return strconv.FormatInt(ns/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(ns, 10) + "ns"
}

// Values describes the accepted values, for the format reference.
func (f *Form) Values() string {
	var parts []string
	switch f.Kind {
	case Duration:
		parts = append(parts, f.durations())
	case Delay:
		if f.Recurs {
			parts = append(parts, "delay that ends at "+DurationText(int64(shortestPeriod))+" or later")
			break
		}
		parts = append(parts, "delay")
	case Count:
		parts = append(parts, strconv.FormatInt(f.Least, 10)+" to "+strconv.FormatInt(f.Most, 10))
	case Allowance:
		parts = append(parts, "written as `1% + 2ms`, `1%` or `2ms`")
	case Share:
		parts = append(parts, "share and delay")
	case Name:
		parts = append(parts, "letters, digits, `-_.:/{}`; at most 64")
	case Mapping:
		parts = append(parts, "a mapping")
	}
	if f.Kind == Word && len(f.Words) == 2 && f.Words[0] == "on" && f.Words[1] == "off" {
		return "switch"
	}
	for _, w := range f.Words {
		parts = append(parts, "`"+w+"`")
	}
	return strings.Join(parts, ", ")
}

func (f *Form) durations() string {
	text := "duration"
	if f.Step > 1 {
		text = "whole " + map[int64]string{int64(time.Millisecond): "milliseconds",
			int64(time.Second): "seconds"}[f.Step]
	}
	switch {
	case f.Recurs:
		return text + ", at least " + DurationText(int64(shortestPeriod))
	case f.Most > 0:
		return text + " from " + DurationText(f.Least) + " to " + DurationText(f.Most)
	case f.Least > 1:
		return text + ", at least " + DurationText(f.Least)
	case f.Least == 1:
		return text + " above 0s"
	}
	return text
}

func delayOf(d sim.Delay) Value { return Value{From: int64(d.Lo), To: int64(d.Hi)} }
