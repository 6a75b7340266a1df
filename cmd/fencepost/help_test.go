package main

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// The list of commands fits an 80-column terminal.
func TestHelpFitsATerminal(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if n := len(c.Short); n > 80-len("  completion  ") {
			t.Errorf("%s: %d characters: %s", c.Name(), n, c.Short)
		}
	}
}

// TestRootHelpNamesAllBackends checks that the help's first page names every backend, so that users can see whether
// their kind of lock is supported.
func TestRootHelpNamesAllBackends(t *testing.T) {
	long := strings.ToLower(newRoot().Long)
	words := []string{"sentinel", "redlock", "replicas", "tair"}
	for _, d := range locks.Definitions() {
		words = append(words, string(d.Backend))
	}
	for _, w := range words {
		if !strings.Contains(long, w) {
			t.Errorf("the help does not name %s", w)
		}
	}
}
