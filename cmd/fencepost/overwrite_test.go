package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestAForeignFileIsNoticedBeforeTheWork runs commands that write to a folder. For each file that a command writes, it
// runs the command again with another folder, which contains a foreign file with the same name. The command must refuse
// this folder before it starts to work, without printing or writing anything.
func TestAForeignFileIsNoticedBeforeTheWork(t *testing.T) {
	dir := t.TempDir()
	for name, text := range jsonFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	filesIn := func(folder string) (names []string) {
		err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), ".") { // the program's own notes are hidden
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	for _, call := range [][]string{
		{"run", "kleppmann-gc-pause"},
		{"run", "violated.yaml", "--seeds", "3"},
		{"explore", "violated.yaml", "--seeds", "20"},
		{"verify", "violated.yaml", "--kinds", "pause"},
		{"sweep", "violated.yaml", "--vary", "ttl=9s,10s", "--seeds", "1", "--assert",
			"mutual-exclusion holds when ttl >= 1s"},
		{"advise", "violated.yaml", "--seeds", "2"},
		{"compare", "--seeds", "1"},
		{"check", "jepsen.edn", "--lock", "mutex"},
		{"live", "quick.yaml"},
	} {
		if !runsHere(call) {
			continue
		}
		t.Run(strings.Join(call, " "), func(t *testing.T) {
			testkit.OneIn(t, 3)
			args := slices.Clone(call)
			if _, own := jsonFiles[args[1]]; own {
				args[1] = filepath.Join(dir, args[1])
			}
			made := filepath.Join(t.TempDir(), "made")
			var out, problems bytes.Buffer
			if code := run(append(slices.Clone(args), "--out", made), &out, &problems); code == exitBadInput {
				t.Fatal(problems.String())
			}
			names := filesIn(made)
			if len(names) == 0 {
				t.Error("no file was written")
			}
			for _, name := range names {
				other := t.TempDir()
				path := filepath.Join(other, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("foreign"), 0o600); err != nil {
					t.Fatal(err)
				}
				out.Reset()
				problems.Reset()
				code := run(append(slices.Clone(args), "--out", other), &out, &problems)
				if code != exitBadInput || out.Len() > 0 || !strings.Contains(problems.String(), path) ||
					len(filesIn(other)) != 1 {
					t.Errorf("%s: exit %d, it prints\n%s%s", name, code, out.String(), problems.String())
				}
			}
		})
	}
}
