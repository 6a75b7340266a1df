package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var guidePath = regexp.MustCompile(`\b(checker|cmd|nemesis|reports|scenarios|sim)(/[A-Za-z0-9_.-]*[A-Za-z0-9])*`)

// TestTheGuideNamesWhatThereIs checks the contributor's guide in doc.go. Every file and package named by the guide must
// exist. Each of its lists must name a test as an example, except the list for kinds of faults. The guide must fit on a
// page.
func TestTheGuideNamesWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 68 {
		t.Errorf("%d lines are more than a page", n)
	}
	lists := strings.Split(string(text), "\n//\n// A ")[1:]
	for _, kind := range []string{"kind of fault", "lock protocol", "law", "command in", "command that", "column",
		"backend"} {
		found := false
		for _, l := range lists {
			head, places, _ := strings.Cut(l, ":\n")
			if !strings.HasPrefix(l, kind) {
				continue
			}
			found = true
			_, example, has := strings.Cut(places, "Example: ")
			if path := guidePath.FindString(example); kind != "kind of fault" &&
				(!has || !strings.HasSuffix(path, "_test.go")) {
				t.Errorf("%s: the example is %q", head, path)
			}
		}
		if !found {
			t.Errorf("nothing says where to add a %s", kind)
		}
	}
	for _, path := range guidePath.FindAllString(string(text), -1) {
		if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
			t.Errorf("the guide names %s: %v", path, err)
		}
	}
}

var (
	quoted  = regexp.MustCompile("`([^`\n]+)`")
	ofRooms = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w*)$`)
)

// TestThePageOfArchitectureNamesWhatThereIs checks that each package, file, type and test that CONTRIBUTING.md names
// exists.
func TestThePageOfArchitectureNamesWhatThereIs(t *testing.T) {
	page, err := os.ReadFile("../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					declared[s.file.Name.Name+"."+d.Name.Name] = true
					declared[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						declared[s.file.Name.Name+"."+ts.Name.Name] = true
					}
				}
			}
		}
	}
	seen := 0
	for _, m := range quoted.FindAllStringSubmatch(string(page), -1) {
		name := m[1]
		path := guidePath.FindString(name)
		switch {
		case path == name:
			_, err := os.Stat(filepath.Join("../..", path))
			if seen++; err != nil {
				t.Errorf("it names %s: %v", path, err)
			}
		case ofRooms.MatchString(name), strings.HasPrefix(name, "Test"):
			if seen++; !declared[name] {
				t.Errorf("it names %s, which is not there", name)
			}
		}
	}
	if seen < 40 {
		t.Errorf("it names %d things", seen)
	}
}
