package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damage changes the files that contain a campaign's stored results, as a failing disk might. The server must not be
// running.
func damage(t testing.TB, folder, campaign string, change func(text []byte) []byte) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(storeIn(folder), "jetstream", "$G", "streams",
		"fencepost_"+campaign+"_parts", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("there are no parts of %s: %v", campaign, err)
	}
	for _, name := range blocks {
		text, err := os.ReadFile(name)
		if err == nil {
			err = errors.Join(os.Chmod(name, 0o600), os.WriteFile(name, change(text), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// flipped returns a function that flips one bit of a file's content. at chooses the byte, given the file's size.
func flipped(at func(size int) int) func([]byte) []byte {
	return func(text []byte) []byte {
		if len(text) > 0 {
			text[at(len(text))] ^= 4
		}
		return text
	}
}

// TestPartsDamagedAfterTheEndAreMadeAgain checks that stored results are never counted if they were damaged on disk
// after the campaign had ended. The report command says that they are lost, and has their portions run again. The
// report is then the same as before, byte for byte.
func TestPartsDamagedAfterTheEndAreMadeAgain(t *testing.T) {
	t.Parallel()
	third := func(text []byte) []byte { return text[:len(text)/3] }
	nothing := func([]byte) []byte { return nil }
	rule := []string{"--until-findings", "1"}
	for how, one := range map[string]struct {
		change func([]byte) []byte
		rule   []string
	}{
		"a bit of one":         {flipped(func(size int) int { return size / 2 }), nil},
		"cut off":              {third, nil},
		"nothing is left":      {nothing, nil},
		"cut off, ended early": {third, rule},
		"nothing is left of one that was ended early": {nothing, rule},
	} {
		dir, change := t.TempDir(), one.change
		want := call(t, campaignOf(t, dir, append([]string{"run", "kleppmann-gc-pause", "--seeds", "400", "--out", "x",
			"--name", "d"}, one.rule...)...))
		files := filesIn(t, filepath.Join(dir, "x"))
		damage(t, filepath.Join(dir, "x"), "d", change)
		got := call(t, campaignOf(t, dir, "report", "--out", "x"))
		if got.out != want.out || got.code != want.code || !strings.Contains(got.problems, "has lost or damaged ") ||
			!strings.Contains(got.problems, "run again") {
			t.Errorf("%s: exit %d\n%s%s\nwant %d\n%s", how, got.code, got.out, got.problems, want.code, want.out)
		}
		same(t, filesIn(t, filepath.Join(dir, "x")), files)
		if again := call(t, campaignOf(t, dir, "report", "--out", "x")); strings.Contains(again.problems, "lost") ||
			again.out != want.out {
			t.Errorf("%s: then it still says %s", how, again.problems)
		}
	}
}
