package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// hostile contains strings that a terminal would interpret as commands or display in a different order.
var hostile = []string{"\x1b[2J", "\u009b2J", "\x7f", "\u202e", "\u2066", "\u2028", "a\rb", "\x07", "\x00",
	"\x1b]0;x\x07"}

// TestNoControlCharacterGetsIn puts malicious strings, escaped as in YAML, into every value and every key in the
// catalog. Each of them must be reported at its position, with a message that a terminal can display.
func TestNoControlCharacterGetsIn(t *testing.T) {
	files, err := filepath.Glob("catalogue/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	tried := 0
	for i, path := range files {
		if i%testkit.Size(40, 8, 1) > 0 {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := format.ParseDocument(path, text)
		if err != nil {
			t.Fatal(err)
		}
		doc.Set("source", "a document")
		for k, at := range places(doc, "") {
			bad := hostile[(i+k)%len(hostile)]
			value := doc.Clone()
			value.Set(at, "x"+bad)
			checkRefused(t, at, value)
			if last := at[strings.LastIndex(at, ".")+1:]; strings.Trim(last, "0123456789") != "" {
				key := doc.Clone()
				key.Rename(at, last+bad)
				checkRefused(t, at, key)
			}
			tried++
		}
	}
	if tried < testkit.Size(20, 100, 100) {
		t.Errorf("%d places were tried", tried)
	}
}

// places returns the paths of all scalar values in a document.
func places(doc *format.Document, path string) (all []string) {
	if _, ok := doc.Get(path); ok {
		return []string{path}
	}
	for _, key := range doc.Keys(path) {
		all = append(all, places(doc, strings.TrimPrefix(path+"."+key, "."))...)
	}
	for i := range doc.List(path) {
		all = append(all, places(doc, fmt.Sprintf("%s.%d", path, i+1))...)
	}
	return all
}

func checkRefused(t *testing.T, at string, doc *format.Document) {
	t.Helper()
	_, err := Parse("my.yaml", []byte(doc.String()))
	var bad *format.Error
	if !errors.As(err, &bad) {
		t.Fatalf("%s: %v\n%q", at, err, doc.String())
	}
	lines := strings.Split(doc.String(), "\n")
	if !slices.ContainsFunc(bad.Problems, func(p format.Problem) bool {
		return p.Line > 0 && strings.Contains(string([]rune(lines[p.Line-1])[p.Column-1:]), `\`)
	}) {
		t.Fatalf("%s: no problem is at the escaped string: %v\n%q", at, err, doc.String())
	}
	if i := strings.IndexFunc(strings.ReplaceAll(bad.Error(), "\n", ""), history.Unprintable); i >= 0 {
		t.Fatalf("%s: the message has a control character: %q", at, bad.Error())
	}
}

// TestControlCharactersInTheTextOfAFile checks that unescaped control characters in a file are also reported with their
// line.
func TestControlCharactersInTheTextOfAFile(t *testing.T) {
	for _, bad := range hostile {
		_, err := Parse("my.yaml", []byte("name: x\nsummary: ab"+bad+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "my.yaml:2:") ||
			strings.ContainsFunc(err.Error(), history.Unprintable) {
			t.Errorf("%q: %q", bad, fmt.Sprint(err))
		}
	}
}

// TestProseMayBreakLines checks that line breaks and tabs are allowed in quoted prose.
func TestProseMayBreakLines(t *testing.T) {
	s, err := Parse("my.yaml", []byte("name: x\nsummary: \"a\\n\\tb\"\nservers: {redis: 1}\nlock: {protocol: setnx}\n"))
	if err != nil || s.Summary != "a\n\tb" {
		t.Errorf("%v", err)
	}
}
