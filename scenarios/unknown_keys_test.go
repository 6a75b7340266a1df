package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// keyed is a mapping in a scenario file, with the fields that it may contain.
type keyed struct {
	name   string
	fields func(f *file) []field
}

// allMappings lists all of the format's mappings with fixed keys.
func allMappings() (all []keyed) {
	var walk func(name string, fields func(f *file) []field)
	walk = func(name string, fields func(f *file) []field) {
		all = append(all, keyed{name, fields})
		for i, below := range fields(newFile(&format.Reader{})) {
			if len(below.inside()) > 0 {
				walk(strings.TrimPrefix(name+"."+below.name, "."),
					func(f *file) []field { return fields(f)[i].inside() })
			}
		}
	}
	walk("", func(f *file) []field { return f.fields() })
	return append(all, keyed{"mix.weights", func(f *file) []field {
		var kinds []field
		for _, k := range nemesis.Kinds {
			kinds = append(kinds, field{name: k.String(), sample: "1", read: save(new(int), f.Whole(0,
				draw.MaxWeight))})
		}
		return kinds
	}})
}

// problems returns the problems that the mapping reports for the given text.
func (m *keyed) problems(t *testing.T, text string) []format.Problem {
	t.Helper()
	r, body, err := format.Read("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(text, err)
	}
	r.Elsewhere = func(key string) []string { return mappings()[key] }
	mapping(r, body, m.name, m.fields(newFile(r)))
	var bad *format.Error
	if err := r.Err(); errors.As(err, &bad) {
		return bad.Problems
	}
	return nil
}

// edits returns a word's misspellings with one typing error: a letter is missing, added or changed, or two letters are
// swapped.
func edits(word string) (all []string) {
	for i := range len(word) + 1 {
		all = append(all, word[:i]+"q"+word[i:])
		if i < len(word) {
			all = append(all, word[:i]+word[i+1:], word[:i]+"q"+word[i+1:])
		}
		if i+1 < len(word) {
			all = append(all, word[:i]+word[i+1:i+2]+word[i:i+1]+word[i+2:])
		}
	}
	return all
}

// parts returns prefixes of a word, the words that it consists of, and longer words that contain it.
func parts(word string) (all []string) {
	for i := 2; i < len(word); i++ {
		all = append(all, word[:i])
	}
	for _, p := range strings.FieldsFunc(word, func(c rune) bool { return c == '-' || c == ' ' }) {
		if len(p) > 1 {
			all = append(all, p)
		}
	}
	if len(word) > 2 {
		all = append(all, word+"-ms", "redis-"+word)
	}
	return all
}

// TestAnUnknownKeyGetsTheRightOne misspells and shortens every key in every mapping. The message about the wrong key
// must name the correct key, or say where a key with that name is allowed. If the wrong key does not resemble any key,
// the message must list all keys that are allowed in the mapping.
func TestAnUnknownKeyGetsTheRightOne(t *testing.T) {
	nth, made, tried := testkit.Size(20, 1, 1), 0, 0
	for _, m := range allMappings() {
		var keys []string
		for _, f := range m.fields(newFile(&format.Reader{})) {
			if f.instead == "" {
				keys = append(keys, f.name)
			}
		}
		said := func(wrong string) string {
			for _, p := range m.problems(t, fmt.Sprintf("%q: 1", wrong)) {
				if strings.HasPrefix(p.Message, "unknown key") {
					return p.String()
				}
			}
			t.Fatalf("%q is known in %s", wrong, m.name)
			return ""
		}
		names := func(text, key string) bool {
			return regexp.MustCompile(`[ "]` + regexp.QuoteMeta(key) + `("|,|\?| or | and |$)`).MatchString(text)
		}
		for _, key := range keys {
			for _, wrong := range append(edits(key), parts(key)...) {
				if wrong == "" || slices.Contains(keys, wrong) {
					continue
				}
				if made++; made%nth > 0 {
					continue
				}
				tried++
				text := said(wrong)
				_, offered, _ := strings.Cut(text, format.Found(wrong))
				if elsewhere := strings.Contains(offered, ": it belongs "); !names(offered, key) && !elsewhere {
					t.Errorf("%s is not named: %s", key, text)
				}
			}
		}
		text := said("xyzzy")
		for _, key := range keys {
			if !names(text, key) {
				t.Errorf("%s is not listed: %s", key, text)
			}
		}
	}
	if tried < 4000/nth {
		t.Errorf("only %d wrong keys", tried)
	}
}

// TestWhatPeopleWriteGetsTheRightKey tries words that people know from other tools. The message must name the right
// setting.
func TestWhatPeopleWriteGetsTheRightKey(t *testing.T) {
	all := map[string]*keyed{}
	for _, m := range allMappings() {
		all[m.name] = &m
	}
	for _, c := range []struct{ in, key, want string }{
		{"servers", "sentinel", "did you mean replicas, down-after or reconfigure-after?"},
		{"lock", "key", `did you mean name`},
		{"lock", "renew", `did you mean "renew-deadline"`},
		{"lock", "extend", `did you mean "extension"`},
		{"lock", "hold", "it belongs under work"},
		{"", "ttl", "it belongs under lock"},
		{"lock", "clients", "it belongs at the top of the file"},
		{"work", "timeout", "it belongs under lock, under lock.wait or under resource"},
	} {
		got := fmt.Sprint(all[c.in].problems(t, c.key+": 1"))
		if !strings.Contains(got, c.want) {
			t.Errorf("%s in %q: %s, want %s", c.key, c.in, got, c.want)
		}
	}
}

var exampleIn = regexp.MustCompile(`needs a mapping such as (\{.*?\}+)(?:, or [a-z]+)?, found `)

// written returns a minimal file's text in which the given text replaces the mapping at path.
func written(path, other string) string {
	parts := map[string]string{"servers": "{redis: 1, replicas: 9}", "lock": "{protocol: set-nx-px}"}
	names := strings.Split(path, ".")
	for _, name := range slices.Backward(names[1:]) {
		other = "{" + name + ": " + other + "}"
	}
	switch parts[names[0]] = other; {
	case path == "servers.persistence":
		parts["servers"] = "{redis: 1, " + other[1:]
	case path == "servers": // the replacement may mean many servers
		parts["lock"] = "{protocol: redlock}"
	case path == "resource": // the replacement may turn on the comparison of tokens
		parts["lock"] = "{protocol: fenced}"
	case names[0] == "lock" && len(names) > 1:
		parts["lock"] = "{protocol: set-nx-px, " + other[1:]
	}
	text := "name: x\n"
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		text += name + ": " + parts[name] + "\n"
	}
	return text
}

// TestAMappingHasAnExampleThatIsRight replaces every mapping with various other values. The message must contain an
// example of the mapping, and the file must be valid with that example in the same place.
func TestAMappingHasAnExampleThatIsRight(t *testing.T) {
	paths := []string{"overrides", "overrides.client-1", "overrides.client-1.lock", "overrides.client-1.work",
		"network.links", "expect.metrics"}
	for _, m := range allMappings()[1:] {
		paths = append(paths, m.name)
	}
	for _, path := range paths {
		for _, other := range []string{"none-such", "5", "3s", "on", "10ms..20ms", "everysec", "redlock", "holds",
			"[a, b]", "'a: b'", "1%"} {
			var bad *format.Error
			if _, err := Parse("f.yaml", []byte(written(path, other))); !errors.As(err, &bad) {
				t.Fatalf("%s as %s: %v", path, other, err)
			}
			found := exampleIn.FindStringSubmatch(bad.Error())
			if found == nil {
				t.Errorf("%s as %s has no example: %s", path, other, bad)
			} else if _, err := Parse("f.yaml", []byte(written(path, found[1]))); err != nil {
				t.Errorf("%s as %s: %s\n%s is wrong: %v", path, other, bad, found[1], err)
			}
		}
	}
	if len(paths) < 15 {
		t.Errorf("only %d mappings: %v", len(paths), paths)
	}
}
