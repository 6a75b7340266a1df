package main

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// plainer lists phrases that no screen, page, JSON description or document may use. Each comes with the phrase to use
// instead.
var plainer = map[string]string{
	"there to show":   "came out as the file expects",
	"put to the test": "checked",
	"a run breaks it": "share of runs",
	"broken by a run": "share of runs",
	"open unseen":     "undecided unchecked",
	"a lock in use":   "while an affected client held or asked for a lock",
	"as stated to":    "as the client sees it",
	"let events":      "host delay",
	"not told by":     "not recorded",
	"does not tell":   "does not record, does not say",
}

// TestScreensUseTheFieldsWords checks that the program never prints a phrase listed in plainer. It searches the strings
// in the program's code, the files that the program embeds, the output in golden files, and the documents.
func TestScreensUseTheFieldsWords(t *testing.T) {
	for where, text := range printed(t) {
		text = strings.Join(strings.Fields(strings.ToLower(text)), " ") // a phrase may be wrapped
		for phrase, instead := range plainer {
			if strings.Contains(text, phrase) {
				t.Errorf("%s says %q in place of %q", where, phrase, instead)
			}
		}
	}
}

// printed returns everything that the program may print, keyed by location.
func printed(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				all[s.set.Position(lit.Pos()).String()] = text
			}
			return true
		})
	}
	for _, pattern := range []string{"../../*.md", "../../*/*.md", "../../*/*/*.md", "../../*/*/*/*.md",
		"../../scenarios/play/page/*.html", "../../reports/*/*.js", "testdata/schema.json",
		"../../checker/history/*.json", "../../scenarios/*/testdata/*.*",
		"testdata/*/*.txtar", "../../scenarios/catalogue/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[file] = string(text)
		}
	}
	return all
}
