package format

import (
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// Kind is how the value of a key is written, apart from the words that it may take.
type Kind uint8

// The kinds of values.
const (
	Word      Kind = iota // one of Words, and nothing else
	Duration              // "500ms"
	Delay                 // "50ms", or a range: "50ms..250ms"
	Count                 // "5"
	Allowance             // "1% + 2ms", or either part
	Share                 // a share of messages and their delay: "1% 10ms..50ms"
	Name                  // letters, digits and - _ . : /
	Mapping               // a mapping of the keys that begin with this one's and a dot
)

// Form is what may be written as the value of a key.
type Form struct {
	Kind        Kind
	Words       []string
	Least, Most int64 // of a Count; of a Duration in ns, where Most zero is any
	Step        int64 // of a Duration, in ns: it must be a multiple of this; zero: any
	Required    bool  // the key must be given
	// Recurs says that the duration is the period of something that goes on for as long as a hold, a wait or a run
	// lasts: the next try for a lock or a reply, the next extension, the next check of a master. It, or the end of a
	// delay, is at least shortestPeriod: shorter periods would dominate the run.
	Recurs bool
	// Zero is what the real server says of 0, where 0 is below Least; empty: nothing.
	Zero string
}

// shortestPeriod is the shortest period of what recurs.
const shortestPeriod = time.Millisecond

// Recurring returns the key with a form that recurs.
func (k Key[T]) Recurring() Key[T] { return k.With(func(f *Form) { f.Recurs = true }) }

// Refusing returns the key with what the real server says of 0, which the key refuses.
func (k Key[T]) Refusing(said string) Key[T] { return k.With(func(f *Form) { f.Zero = said }) }

// Value is the value in a file: a word, or numbers in the unit of its kind.
type Value struct {
	Word string
	// N is a duration in ns, a count, or a rate in millionths; From and To are the ends of a delay, or the first the
	// constant part of an allowance, in ns.
	N        int64
	From, To int64
}

// Key is a key whose value is stored in a T.
type Key[T any] struct {
	Path     string // dots lead into mappings: "retry.delay"
	Form     Form
	Standard Value  // the default, unless Depends says something else
	Depends  string // the default in words, if it depends on other keys
	Meaning  string
	Example  string // a value that best shows what the key's mapping is for; empty if another key does
	Set      func(*T, Value)
	Get      func(*T) Value // what is in force; a Group that is not in use, and its keys, give the word "none"
	// Wall is the word with which the client reads its wall clock, so that a jump of that clock makes a difference;
	// empty: with none.
	Wall string
}

// With returns the key with another form, so that some user of a table takes fewer words or a narrower range.
func (k Key[T]) With(change func(*Form)) Key[T] {
	k.Form.Words = append([]string(nil), k.Form.Words...)
	change(&k.Form)
	return k
}

// Only returns the key with only these of its words.
func Only[T any, V ~string](k Key[T], words ...V) Key[T] {
	return k.With(func(f *Form) {
		f.Words = nil
		for _, w := range words {
			f.Words = append(f.Words, string(w))
		}
	})
}

// Standing returns the key with another default.
func (k Key[T]) Standing(v Value) Key[T] {
	k.Standard, k.Depends = v, ""
	return k
}

// OnWall returns the key with the word with which the client reads its wall clock.
func (k Key[T]) OnWall(word string) Key[T] {
	k.Wall = word
	return k
}

// Showing returns the key with the example of its mapping.
func (k Key[T]) Showing(value string) Key[T] {
	k.Example = value
	return k
}

// Depending returns the key with a default that words describe.
func (k Key[T]) Depending(words string) Key[T] {
	k.Depends = words
	return k
}

// Number is the one number of a value of this form; false if it is a word, or two numbers, or less than may be written:
// that of a key which is not in use.
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

// Nearest is the duration of this form that is nearest to n.
func (f *Form) Nearest(n int64) int64 {
	if f.Step > 1 {
		n = (n + f.Step - 1) / f.Step * f.Step
	}
	if f.Most > 0 {
		n = min(n, f.Most)
	}
	return max(n, f.Least)
}

// Text writes a value as a file does.
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

// DurationText writes a duration in the largest unit, up to seconds, that takes no fraction.
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

// Values describes what the form takes, for the reference.
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
		parts = append(parts, "as `1% + 2ms`, `1%` or `2ms`")
	case Share:
		parts = append(parts, "share and delay")
	case Name:
		parts = append(parts, "letters, digits, `-_.:/`; at most 64")
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

// delayOf is the value of a delay.
func delayOf(d sim.Delay) Value { return Value{From: int64(d.Lo), To: int64(d.Hi)} }
