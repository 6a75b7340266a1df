package format

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// Option is a word that a key accepts, along with the value that the word stands for.
type Option[V any] struct {
	Word  string
	Value V
}

// Options returns one option for each word. The option's value is the word itself.
func Options[V ~string](words ...V) []Option[V] {
	options := make([]Option[V], len(words))
	for i, w := range words {
		options[i] = Option[V]{string(w), w}
	}
	return options
}

// Choice returns a key that accepts one of several words. The first word is the default. where returns the field that
// stores the value.
func Choice[T any, V comparable](path string, where func(*T) *V, meaning string, options ...Option[V]) Key[T] {
	k := Key[T]{Path: path, Meaning: meaning, Standard: Value{Word: options[0].Word}}
	for _, o := range options {
		k.Form.Words = append(k.Form.Words, o.Word)
	}
	k.Set = func(t *T, v Value) {
		for _, o := range options {
			if o.Word == v.Word {
				*where(t) = o.Value
			}
		}
	}
	k.Get = func(t *T) Value {
		for _, o := range options {
			if o.Value == *where(t) {
				return Value{Word: o.Word}
			}
		}
		return Value{}
	}
	return k
}

// Switch returns a key that accepts on and off.
func Switch[T any](path string, where func(*T) *bool, standard bool, meaning string) Key[T] {
	k := Choice(path, where, meaning, Option[bool]{"on", true}, Option[bool]{"off", false})
	if !standard {
		k.Standard = Value{Word: "off"}
	}
	return k
}

// Time returns a key that accepts a duration. It may also accept the given words, which stand for zero.
func Time[T any](path string, where func(*T) *time.Duration, standard time.Duration, meaning string,
	words ...string) Key[T] {
	return number(path, Duration, where, int64(standard), meaning, words)
}

// Positive returns a key that accepts a duration greater than zero.
func Positive[T any](path string, where func(*T) *time.Duration, standard time.Duration, meaning string,
	words ...string) Key[T] {
	return Time(path, where, standard, meaning, words...).With(func(f *Form) { f.Least = 1 })
}

// Number returns a key that accepts an integer between least and most.
func Number[T any](path string, where func(*T) *int, standard, least, most int, meaning string,
	words ...string) Key[T] {
	k := number(path, Count, where, int64(standard), meaning, words)
	k.Form.Least, k.Form.Most = int64(least), int64(most)
	return k
}

// number returns a key whose value is a number. Each of the given words stands for zero. Zero is printed as the first
// word.
func number[T any, V ~int | ~int64](path string, kind Kind, where func(*T) *V, standard int64, meaning string,
	words []string) Key[T] {
	value := func(n int64) Value {
		if n == 0 && len(words) > 0 {
			return Value{Word: words[0]}
		}
		return Value{N: n}
	}
	return Key[T]{Path: path, Form: Form{Kind: kind, Words: words}, Standard: value(standard), Meaning: meaning,
		Set: func(t *T, v Value) { *where(t) = V(v.N) },
		Get: func(t *T) Value { return value(int64(*where(t))) }}
}

// Spread returns a key whose value is a delay, which may be a range.
func Spread[T any](path string, where func(*T) *sim.Delay, standard sim.Delay, meaning string) Key[T] {
	return Key[T]{Path: path, Form: Form{Kind: Delay}, Standard: delayOf(standard), Meaning: meaning,
		Set: func(t *T, v Value) { *where(t) = sim.Delay{Lo: time.Duration(v.From), Hi: time.Duration(v.To)} },
		Get: func(t *T) Value { return delayOf(*where(t)) }}
}
