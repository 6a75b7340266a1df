package text

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestCells(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "lock": 4, "分散ロック": 10, "é": 1, "e\u0301": 1, "█│┐✗⋮▸░▒▄▀┆┘": 12, "✓±–·…": 5, "🔒": 2, "잠금": 4,
		"👩‍💻": 2, "🇩🇪": 2, // each is a single character that consists of several code points
	} {
		if got := Cells(s); got != want {
			t.Errorf("cells(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestWrapKeepsWordsAndWidth(t *testing.T) {
	const text = "a lock  is held\tby whoever believes it 分散ロックパターン and-a-very-long-word-without-any-space"
	for width := 2; width < 60; width++ {
		lines := Wrap(text, width)
		for _, l := range lines {
			if Cells(l) > width || strings.TrimSpace(l) != l {
				t.Fatalf("width %d: %q", width, l)
			}
		}
		letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := letters(strings.Join(lines, " ")), letters(text); got != want {
			t.Fatalf("width %d: text became %q", width, got)
		}
	}
}

func TestTerminalControlIsNeverPassedOn(t *testing.T) {
	var b strings.Builder
	p := New(&b, 80, false)
	p.Put(new(Line).Add(Bold, "a\x1b[2Jb\nc\x00d\u202ee\xff"))
	if got := b.String(); got != "a [2Jb c d e\n" {
		t.Errorf("%q", got)
	}
}

func TestWrappedCommandPastesAsOneCommand(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell here")
	}
	args := []string{"run", "/a/long/path with spaces/to/some scenario.yaml", "--seed", "18446744073709551615",
		"--plan",
		"pause client-1 for 15s after acquired", strings.Repeat("x", 90), strings.Repeat("/a b/c", 40),
		strings.Repeat("long name ", 30) + "end",
		"_runs/" + strings.Repeat("a-very-long-folder-name/", 5) + "plan.txt"}
	text := "printf '%s\\n'"
	quotes := []string{`"`, `'`}
	for i, a := range args {
		if strings.Contains(a, " ") {
			a = quotes[i%2] + a + quotes[i%2]
		}
		text += " " + a
	}
	for n := range 40 { // a name with a quote, at every position in the line
		name := "it's " + strings.Repeat("o", 30+n) + "'s lock"
		args = append(args, name)
		text += " '" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	for _, width := range []int{60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 80, 99, 160, 200} {
		var b strings.Builder
		New(&b, width, false).Command(0, "again   ", text)
		pasted := strings.TrimPrefix(b.String(), "again")
		out, err := exec.Command("sh", "-c", pasted).CombinedOutput()
		if got := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil || !slices.Equal(got, args) {
			t.Errorf("width %d: %v\n%s\ngave %q", width, err, pasted, got)
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if Cells(l) > width {
				t.Errorf("width %d: %q", width, l)
			}
		}
	}
}
