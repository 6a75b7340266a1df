package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var guidePath = regexp.MustCompile(`\b(checker|cmd|nemesis|reports|scenarios|sim)(/[A-Za-z0-9_.-]*[A-Za-z0-9])*`)

// TestTheGuideNamesWhatThereIs follows the contributor's guide: each place that it names is there, each list has its
// example, which is a test, and it fits a page.
func TestTheGuideNamesWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 60 {
		t.Errorf("%d lines are more than a page", n)
	}
	lists := strings.Split(string(text), "\n//\n// A ")[1:]
	for _, kind := range []string{"kind of fault", "lock protocol", "law", "command", "column", "backend"} {
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
