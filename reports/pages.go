package reports

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker"
)

// Page is a self-contained HTML page: it loads nothing, and shows everything but what moves without its script.
type Page struct {
	Path  string
	Write func(io.Writer) error // the error is the writer's
}

// beside is a path that begins as another does, without its extension.
func beside(path, rest string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + rest }

// Pages are the report of the run, and what porcupine draws of each lock.
func (r *Run) Pages(path string) (all []Page) {
	var links []Link
	names := fileNames{}
	for _, e := range checker.Evidence(r.history()) {
		name := names.of(string(e.Lock))
		for _, view := range []struct {
			what string
			show func(io.Writer) error
			has  bool
		}{
			{"sections", e.Mutex.WriteHTML, e.Mutex != nil},
			{"writes", e.Data.WriteHTML, e.Data != nil},
		} {
			if !view.has {
				continue
			}
			at := beside(path, fmt.Sprintf("-%s-%s.html", name, view.what))
			all = append(all, Page{at, view.show})
			links = append(links, Link{Text: fmt.Sprintf("porcupine: %s of %q", view.what, e.Lock), Href: filepath.Base(at)})
		}
	}
	return append(all, Page{path, func(w io.Writer) error { return r.html(w, links) }})
}

// Pages are the page of many runs, and those of each run worth showing.
func (m *Many) Pages(path string) (all []Page) {
	shown := m.Shown
	if m.Sample != nil {
		shown = []*Run{m.Sample}
	}
	var links []Link
	for _, run := range shown {
		at := beside(path, fmt.Sprintf("-seed-%d.html", run.Seed))
		all = append(all, run.Pages(at)...)
		links = append(links, Link{Text: fmt.Sprintf("seed %d: timeline, witness and metrics", run.Seed), Href: filepath.Base(at)})
	}
	return append(all, Page{path, func(w io.Writer) error { return m.html(w, links) }})
}

// Pages are the page of the exploration, and one for each finding.
func (e *Exploration) Pages(path string) (all []Page) {
	var others []string
	for i := range e.Findings {
		f := &e.Findings[i]
		at := beside(path, "-"+f.Slug()+".html")
		all = append(all, Page{at, func(w io.Writer) error { return f.Run.html(w, nil) }})
		others = append(others, filepath.Base(at))
	}
	return append(all, Page{path, func(w io.Writer) error { return e.html(w, others) }})
}

// Slug names the files of a finding: "mutual-exclusion-holder-outlived-its-lease-pause".
func (f *ExploredFinding) Slug() string {
	words := strings.FieldsFunc(fmt.Sprintf("%s %s", f.Law, f.Cause), func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r)
	})
	return strings.Join(words, "-")
}

// Pages is the one page of the verification.
func (v *Verification) Pages(path string) []Page { return []Page{{path, v.html}} }

// fileWord makes a word that can stand in a file's name, and in a link to it.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|#% `, r) || r < ' ' {
			return '_'
		}
		return r
	}, s)
}

// fileNames are words that stand in files' names, each for one thing.
type fileNames map[string]bool

// of makes a word that can stand in a file's name and that no other thing has, on a file system that heeds no case either.
func (n fileNames) of(s string) string {
	const longest = 100
	word := fileWord(s)
	for len(word) > longest {
		_, size := utf8.DecodeLastRuneInString(word)
		word = word[:len(word)-size]
	}
	free := word
	for i := 2; n[strings.ToLower(free)]; i++ {
		free = fmt.Sprintf("%s-%d", word, i)
	}
	n[strings.ToLower(free)] = true
	return free
}
