package nearest

import (
	"slices"
	"strings"
	"testing"
)

func TestNearestFindsTheWordThatWasMeant(t *testing.T) {
	laws := []string{"lease-exclusion", "mutual-exclusion", "resource-safety", "ownership", "token-order"}
	for _, test := range []struct {
		word    string
		choices []string
		want    string
	}{
		{"mutual-exlusion", laws, "mutual-exclusion"},
		{"lease-exclude", laws, "lease-exclusion"},
		{"exclusion", laws, ""},
		{"Ownership", laws, "ownership"},
		{"token_order", laws, "token-order"},
		{"deadlock", laws, ""},
		{"", laws, ""},
		{"x", []string{"s", "ms"}, ""},           // nothing in common
		{"fro", []string{"from", "for"}, "from"}, // one letter is missing, or two are swapped: the first choice wins
		{"fro", []string{"for", "from"}, "for"},  // the same with the choices in the other order
		{"for", []string{"from", "for"}, "for"},  // the word itself
		{"redis-12", []string{"redis-2", "redis-1"}, "redis-2"},
		{"ttl", nil, ""},
		{"tll", []string{"", "ttl"}, "ttl"},
		{strings.Repeat("a", longestNearest+1), []string{strings.Repeat("a", longestNearest)}, ""},
		{strings.Repeat("a", longestNearest), []string{strings.Repeat("a", longestNearest+1)}, ""},
		{"ünit", []string{"unit"}, "unit"},
	} {
		if got := Word(test.word, test.choices); got != test.want {
			t.Errorf("Word(%q, %q) = %q, want %q", test.word, test.choices, got, test.want)
		}
	}
}

func TestMeantFindsAllThatMayHaveBeenMeant(t *testing.T) {
	keys := []string{"min-lag", "min-replicas", "replicas", "extension", "to", "name", "names"}
	for word, want := range map[string][]string{
		"min":                     {"min-lag", "min-replicas"}, // contained in both
		"MIN":                     {"min-lag", "min-replicas"},
		"max-replicas":            {"min-replicas", "replicas"}, // near, and contained in the word
		"extend":                  {"extension"},                // the same beginning
		"nams":                    {"name", "names"},            // equally near
		"m":                       nil,
		"":                        nil,
		"to-the-end":              nil, // two letters do not count as contained
		"ext":                     {"extension"},
		"xyzzy":                   nil,
		strings.Repeat("min", 30): nil,
	} {
		if got := Meant(word, keys); !slices.Equal(got, want) {
			t.Errorf("Meant(%q) = %q, want %q", word, got, want)
		}
	}
}

// slowDistance computes the distance recursively, following its definition.
func slowDistance(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return slowDistance(a[1:], b[1:])
	}
	least := 1 + min(slowDistance(a[1:], b[1:]), slowDistance(a[1:], b), slowDistance(a, b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, 1+slowDistance(a[2:], b[2:]))
	}
	return least
}

func TestDistanceIsWhatItsDefinitionSaysOnAllShortWords(t *testing.T) {
	words := []string{""}
	for i := 0; len(words[i]) < 4; i++ {
		for _, letter := range []string{"a", "b", "c"} {
			words = append(words, words[i]+letter)
		}
	}
	if len(words) != 1+3+9+27+81 {
		t.Fatalf("%d words", len(words))
	}
	for _, a := range words {
		for _, b := range words {
			if got, want := distance([]rune(a), []rune(b)), slowDistance(a, b); got != want {
				t.Fatalf("distance(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}
