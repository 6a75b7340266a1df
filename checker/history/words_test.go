package history

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// declaredWords returns the string constants of each type in this package, as its source declares them.
func declaredWords(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string][]string{}
	for _, file := range files {
		f, err := goparser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, _ := n.(*ast.ValueSpec)
			if spec == nil {
				return true
			}
			of, _ := spec.Type.(*ast.Ident)
			for _, v := range spec.Values {
				if lit, _ := v.(*ast.BasicLit); of != nil && lit != nil && lit.Kind == token.STRING && lit.Value != `""` {
					word, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					words[of.Name] = append(words[of.Name], word)
				}
			}
			return true
		})
	}
	return words
}

// notEnds lists the words that Why may have, but not on key-gone and copy-gone.
var notEnds = []Why{StaleToken, CompareFailed, AlreadyApplied, AcquireTimeout, BySentinel, ByCluster, LeaseNotValid,
	ExtendLimit, NotOwner, Refused, NoReply}

// TestUnknownWordsAreRefused checks every field that takes one of a few words: each word that the package declares is
// accepted, and a misspelled one is refused with a suggestion. Otherwise, a misspelled word would be ignored.
func TestUnknownWordsAreRefused(t *testing.T) {
	declared := declaredWords(t)
	kinds := []string{}
	for _, k := range serviceKinds {
		kinds = append(kinds, string(k.Name))
	}
	ofEnds := slices.DeleteFunc(slices.Clone(declared["Why"]), func(w string) bool {
		return slices.Contains(notEnds, Why(w))
	})
	f := make([]string, len(functions))
	for i := range functions {
		f[i] = string(functions[i])
	}
	for field, c := range map[string]struct {
		line  string
		words []string
	}{
		"type": {`{"time":5,"process":"a","type":%q,"f":"lost"}`, typeNames[1:]},
		"f":    {`{"time":5,"process":"a","type":"ok","f":%q}`, f},
		"op":   {`{"time":5,"process":"a","type":"ok","f":"apply","op":%q}`, []string{"read", "write"}},
		"checked": {`{"time":5,"process":"a","type":"ok","f":"key-gone","why":"expired","by":"b","checked":%q}`,
			checkNames[1:]},
		"why":           {`{"time":5,"process":"a","type":"ok","f":"key-gone","why":%q}`, ofEnds},
		"why of a copy": {`{"time":5,"process":"a","type":"ok","f":"copy-gone","why":%q}`, ofEnds},
		"loses": {`{"time":5,"process":"nemesis","type":"invoke","f":"crash","on":["a"],"loses":%q}`,
			declared["Loss"]},
		"service":          {`{"header":{"service":%q}}`, kinds},
		"measures":         {`{"header":{"measures":[%q]}}`, declared["Measure"]},
		"unknown_measures": {`{"header":{"unknown_measures":[%q]}}`, declared["Measure"]},
		"lapses":           {`{"header":{"lapses":[%q]}}`, declared["Lapse"]},
		"reading":          {`{"header":{"reading":%q}}`, append(declared["Reading"], "default")},
	} {
		if len(c.words) < 2 {
			t.Errorf("%s: only %q are known", field, c.words)
		}
		for _, word := range c.words {
			if _, err := Decode(strings.NewReader(fmt.Sprintf(c.line, word))); err != nil {
				t.Errorf("%s: %v", field, err)
			}
			wrong := word + "q"
			_, err := Decode(strings.NewReader(fmt.Sprintf(c.line, wrong)))
			if err == nil || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), word+`"?)`) {
				t.Errorf("%s: %q: %v", field, wrong, err)
			}
		}
	}
}
