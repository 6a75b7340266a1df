package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// given lists the environment variables that a client finds set, whatever runs it. Tests read them as a client does.
var given = []string{"FENCEPOST_CLIENT", "FENCEPOST_CYCLES", "FENCEPOST_ETCD", "FENCEPOST_LOCK", "FENCEPOST_LOCKD",
	"FENCEPOST_LOCKTEST", "FENCEPOST_MASTER_1", "FENCEPOST_RESOURCE", "FENCEPOST_TTL_MS", "FENCEPOST_ZOOKEEPER"}

// TestSomebodySaysHowToSetWhatTestsRead checks that each environment variable that a test reads is set by a script in
// .ci, or that a document or a comment shows a command that sets it. Otherwise the test that needs it never runs.
func TestSomebodySaysHowToSetWhatTestsRead(t *testing.T) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Skipf("the files are not in git: %v", err)
	}
	reads := regexp.MustCompile(`(?:Getenv|LookupEnv)\("(FENCEPOST_[A-Z0-9_]+)"\)`)
	sets := regexp.MustCompile(`\b(FENCEPOST_[A-Z0-9_]+)=`)
	by, set := map[string]string{}, map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		isTest := strings.HasSuffix(name, "_test.go")
		isGo := strings.HasSuffix(name, ".go")
		if !isGo && !strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, ".ci/") {
			continue
		}
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			for _, found := range reads.FindAllSubmatch(line, -1) {
				if isTest {
					by[string(found[1])] = name
				}
			}
			if isGo && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
				continue
			}
			for _, found := range sets.FindAllSubmatch(line, -1) {
				set[string(found[1])] = true
			}
		}
	}
	if len(by) < 15 {
		t.Errorf("only %d variables were found", len(by))
	}
	for name, file := range by {
		if !set[name] && !slices.Contains(given, name) {
			t.Errorf("%s reads %s, and nothing shows how to set it: show a command in the test's comment", file, name)
		}
	}
	for _, name := range given {
		if by[name] == "" {
			t.Errorf("no test reads %s", name)
		}
	}
}
