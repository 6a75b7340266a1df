package format

import (
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// mostMeant is the maximum number of keys to suggest for an unknown key. If more keys are similar, all keys are listed.
const mostMeant = 8

// unknown reports that a mapping has no such key. It suggests similar keys or, if there are none, lists all keys.
func (r *Reader) unknown(key string, place Place, name string, known []Field, n ast.Node) {
	if places := r.otherMappings(key, name); len(places) > 0 {
		r.Problem(place, "", "unknown key %s%s: it belongs %s", Found(key), in(name), Listed(places, "or"))
		return
	}
	left := Missing(names(known), n)
	meant := nearest.Meant(key, left)
	if len(meant) == 0 {
		meant = describedBy(key, known, left)
	}
	r.suggest(place, "unknown key "+Found(key)+in(name), meant, "the keys here are ", left)
}

// unknownKey reports a name that does not exist, and suggests similar names from the given list.
func (r *Reader) unknownKey(place Place, what, word string, others []string) {
	r.suggest(place, "unknown "+what+" "+Found(word), nearest.Meant(word, others), "the "+what+"s are ", others)
}

// suggest reports a problem and adds suggestions. If there are none, it lists all possible names instead.
func (r *Reader) suggest(place Place, problem string, meant []string, all string, others []string) {
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

// otherMappings returns the mappings that accept a key, other than the one in which the key was found. That mapping is
// omitted even if it accepts the key in some files (for example, in a lock with another protocol).
func (r *Reader) otherMappings(key, here string) (places []string) {
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

// longWord is how long a word must be to match longer words that begin with it, as "renew" matches "renewal".
const longWord = 4

// describedBy returns the candidates whose description contains the given word.
func describedBy(word string, known []Field, candidates []string) (names []string) {
	for _, k := range known {
		words := strings.FieldsFunc(k.Says, func(c rune) bool { return !unicode.IsLetter(c) })
		speaks := func(w string) bool {
			return strings.EqualFold(w, word) || len(word) >= longWord && strings.HasPrefix(strings.ToLower(w), word)
		}
		if slices.Contains(candidates, k.Name) && slices.ContainsFunc(words, speaks) {
			names = append(names, k.Name)
		}
	}
	return names
}

// noMapping reports a value where a mapping was expected.
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

// example returns a short mapping as it could be written in the file. It contains the required keys. If there are none,
// it contains the key that best shows what the mapping is for. If one of these keys accepts the value that was found
// instead of the mapping, the example uses that value.
func (r *Reader) example(n ast.Node, known []Field) string {
	keys := slices.DeleteFunc(slices.Clone(known), func(k Field) bool { return k.Sample == "" || k.Instead != "" })
	slices.SortStableFunc(keys, func(a, b Field) int { return rank(a) - rank(b) })
	if len(keys) == 0 {
		return ""
	}
	at, value := 0, keys[0].Sample
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789-." // characters that may appear in values without quotes
	if text, ok := ScalarText(n); ok && strings.Trim(text, plain) == "" {
		if i := slices.IndexFunc(keys, func(k Field) bool { return rank(k) < 2 && r.accepts(k, n) }); i >= 0 {
			at, value = i, text
		}
	}
	var entries []string
	for i, k := range keys { // required keys come first, if there are any
		switch {
		case i == at:
			entries = append(entries, k.Name+": "+value)
		case k.Required:
			entries = append(entries, k.Name+": "+k.Sample)
		}
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// rank returns a key's rank in an example. Required keys come first, then the key whose sample is the best example,
// then all others.
func rank(k Field) int {
	switch {
	case k.Required:
		return 0
	case k.Shown:
		return 1
	}
	return 2
}

// accepts reports whether a key accepts the value n. It discards any problems that this check records.
func (r *Reader) accepts(k Field, n ast.Node) bool {
	before := len(r.problems)
	ok := k.Takes != nil && k.Takes(n)
	r.problems = r.problems[:before]
	return ok
}
