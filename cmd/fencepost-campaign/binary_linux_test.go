package main

import (
	"os"
	"os/exec"
	"testing"
)

// TestATestBinaryHasNoName checks that a stored test binary can be executed even though its file has no name. Because
// the file has no name, a killed process does not leave it behind.
func TestATestBinaryHasNoName(t *testing.T) {
	t.Parallel()
	echo, err := exec.LookPath("echo")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(echo)
	if err != nil {
		t.Fatal(err)
	}
	for how, keep := range map[string]func(string, []byte) (string, *os.File, error){
		"a disk with nameless files": keepBinary,
		"any disk":                   keepNamed} {
		dir := t.TempDir()
		path, open, err := keep(dir, content)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("%s: %v is left, %v", how, left, err)
		}
		c := exec.Command(path, "it runs")
		c.Dir = dir
		if text, err := c.Output(); string(text) != "it runs\n" {
			t.Errorf("%s: %q, %v", how, text, err)
		}
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	}
}
