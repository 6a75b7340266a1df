package ensembles

import (
	"os"
	"strings"
	"testing"
)

// TestTheReadmeShowsTheTests checks that the code in the README is the same as the tests' code, line by line.
func TestTheReadmeShowsTheTests(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("etcd_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) < 4 {
		t.Errorf("the README has %d blocks of code", len(blocks))
	}
	for _, b := range blocks {
		code, _, _ := strings.Cut(b, "```")
		for _, part := range strings.Split(code, "…\n") {
			for _, function := range strings.Split(strings.TrimSpace(part), "\n\n") {
				if !strings.Contains(string(source), strings.TrimSpace(function)) {
					t.Errorf("no test has\n%s", function)
				}
			}
		}
	}
}
