package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completions returns the completions that the shell is offered after the given words.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	var out, problems bytes.Buffer
	if code := run(append([]string{"__completeNoDesc"}, words...), &out, &problems); code != exitExpected {
		t.Fatalf("%v: %s", words, problems.String())
	}
	return strings.Fields(out.String())
}

func TestCompletionsComeFromTheCommands(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"ex"}, "explore"}, {[]string{"run", "kleppmann-g"}, "kleppmann-gc-pause"}, {[]string{"show",
			"sche"}, "schema"},
		{[]string{"init", "zoo"}, "zookeeper"}, {[]string{"run", "--see"}, "--seeds"}, {[]string{"completion", "f"},
			"fish"},
		{[]string{"verify", "minor"}, "minority-down"}, {[]string{"sweep", "delayed"}, "delayed-restart"},
	} {
		if got := completions(t, c.words...); !slices.Contains(got, c.want) {
			t.Errorf("%v: %v lacks %s", c.words, got, c.want)
		}
	}
}

func TestEachShellHasItsScript(t *testing.T) {
	for shell, mark := range map[string]string{"bash": "complete -o default", "zsh": "#compdef fencepost",
		"fish":       "complete -c fencepost",
		"powershell": "Register-ArgumentCompleter"} {
		var out, problems bytes.Buffer
		if code := run([]string{"completion", shell}, &out, &problems); code != exitExpected ||
			!strings.Contains(out.String(), mark) {
			t.Errorf("%s: exit %d, no %q, %s", shell, code, mark, problems.String())
		}
	}
}

// TestBashCompletes checks that bash completes a line with the generated script. The test defines the bash-completion
// package's functions itself, because few machines have that package.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir,
		"fencepost")); err != nil { // testscript.Main chooses the command by the name under which the program is called
		t.Skip(err)
	}
	const script = `
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
__ltrim_colon_completions() { :; }
source <(fencepost completion bash)
COMP_WORDS=(fencepost run kleppmann-cl) COMP_CWORD=2 COMP_LINE="fencepost run kleppmann-cl" COMP_POINT=26 COMP_TYPE=9
__start_fencepost
printf '%s\n' "${COMPREPLY[@]}"
`
	c := exec.Command(bash, "--norc", "-c", script)
	c.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	text, err := c.CombinedOutput()
	if got := strings.TrimSpace(string(text)); err != nil || got != "kleppmann-clock-jump" {
		t.Errorf("bash completes to %q: %v", got, err)
	}
}
