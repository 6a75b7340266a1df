package format

import (
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// mostMeant is the largest number of keys that are suggested in place of a wrong one; if there are more, all keys are
// listed.
const mostMeant = 8

// unknown reports that a mapping has no such key, and suggests the ones that may have been meant or, if none is near,
// lists all.
func (r *Reader) unknown(key string, place Place, name string, known []Field, n ast.Node) {
	if places := r.elsewhere(key, name); len(places) > 0 {
		r.Problem(place, "", "unknown key %s%s: it belongs %s", Found(key), in(name), Listed(places, "or"))
		return
	}
	left := Missing(names(known), n)
	meant := nearest.Meant(key, left)
	if len(meant) == 0 {
		meant = about(key, known, left)
	}
	r.instead(place, "unknown key "+Found(key)+in(name), meant, "the keys here are ", left)
}

// unknownKey reports that nothing has the name given, and suggests which of some others may have been meant.
func (r *Reader) unknownKey(place Place, what, word string, others []string) {
	r.instead(place, "unknown "+what+" "+Found(word), nearest.Meant(word, others), "the "+what+"s are ", others)
}

// instead ends a problem with suggestions, or with the list of all.
func (r *Reader) instead(place Place, problem string, meant []string, all string, others []string) {
	near := ""
	switch {
	case len(meant) == 1:
		near = meant[0]
	case len(meant) > 0 && len(meant) <= mostMeant:
		problem += ": did you mean " + Listed(meant, "or") + "?"
	case len(others) > 0:
		problem += ": " + all + Listed(others, "and")
	}
	r.Problem(place, near, "%s", problem)
}

// elsewhere returns where a key belongs that is unknown where it stands: under the given name. The same mapping may
// have it in other files: under lock for another protocol.
func (r *Reader) elsewhere(key, here string) (places []string) {
	if r.Elsewhere == nil {
		return nil
	}
	for _, name := range r.Elsewhere(key) {
		switch name {
		case here:
		case "":
			places = append(places, "at the top of the file")
		default:
			places = append(places, "under "+name)
		}
	}
	return places
}

// longWord is the number of letters that are enough to recognise a word by its beginning: "renew" in "renewal".
const longWord = 4

// about returns the keys whose meaning mentions a word.
func about(word string, known []Field, left []string) (about []string) {
	for _, k := range known {
		words := strings.FieldsFunc(k.Says, func(c rune) bool { return !unicode.IsLetter(c) })
		speaks := func(w string) bool {
			return strings.EqualFold(w, word) || len(word) >= longWord && strings.HasPrefix(strings.ToLower(w), word)
		}
		if slices.Contains(left, k.Name) && slices.ContainsFunc(words, speaks) {
			about = append(about, k.Name)
		}
	}
	return about
}

// noMapping refuses a value that stands in the place of a mapping.
func (r *Reader) noMapping(n ast.Node, name, example string, words []string) {
	text, _ := ScalarText(n)
	what := " of keys to values"
	if example != "" {
		what = " such as " + example
	}
	for _, w := range words {
		what += ", or " + w
	}
	r.Problem(StartOf(n), nearest.Word(text, words), "%s needs a mapping%s, found %s", name, what, describe(n))
}

// example returns a mapping of some keys as it may be written: with those that it must have, or else with the one that
// best shows what it is for, and with the value that stands in its place, if one of these keys takes it.
func (r *Reader) example(n ast.Node, known []Field) string {
	keys := slices.DeleteFunc(slices.Clone(known), func(k Field) bool { return k.Sample == "" || k.Instead != "" })
	slices.SortStableFunc(keys, func(a, b Field) int { return rank(a) - rank(b) })
	if len(keys) == 0 {
		return ""
	}
	at, value := 0, keys[0].Sample
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789-." // needs no quotes
	if text, ok := ScalarText(n); ok && strings.Trim(text, plain) == "" {
		if i := slices.IndexFunc(keys, func(k Field) bool { return rank(k) < 2 && r.takes(k, n) }); i >= 0 {
			at, value = i, text
		}
	}
	var entries []string
	for i, k := range keys { // the first is a required one, if there are any
		switch {
		case i == at:
			entries = append(entries, k.Name+": "+value)
		case k.Required:
			entries = append(entries, k.Name+": "+k.Sample)
		}
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// rank puts the keys that an example must have first, then the one to be shown.
func rank(k Field) int {
	switch {
	case k.Required:
		return 0
	case k.Shown:
		return 1
	}
	return 2
}

// takes reports whether a key takes a value.
func (r *Reader) takes(k Field, n ast.Node) bool {
	before := len(r.problems)
	ok := k.Takes != nil && k.Takes(n)
	r.problems = r.problems[:before]
	return ok
}
