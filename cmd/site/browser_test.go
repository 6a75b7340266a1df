//go:build unix

package site

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestNoSecretIsInTheCommandThatOpensTheBrowser replaces the system's command with a program that records its
// arguments. The only argument must be a file that redirects to the URL. Nobody else may be able to read the file.
func TestNoSecretIsInTheCommandThatOpensTheBrowser(t *testing.T) {
	called := filepath.Join(t.TempDir(), "called")
	if err := syscall.Mkfifo(called, 0o600); err != nil {
		t.Fatal(err)
	}
	fake := testkit.Script(t, opener()[0], fmt.Sprintf(`(echo "$@"; env) > '%s'`, called))
	t.Setenv("PATH", filepath.Dir(fake)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	const secret = "SECRETSECRETSECRETSECRETSE"
	address := "http://127.0.0.1:4000/" + secret + "/"
	end, err := OpenInBrowser(address)
	if err != nil {
		t.Fatal(err)
	}
	words, err := os.ReadFile(called) // blocks until the command has written its arguments
	if err != nil || strings.Contains(string(words), secret) {
		t.Errorf("the command line or the environment has the secret: %s, %v", words, err)
	}
	path, _, _ := strings.Cut(string(words), "\n")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "url="+address+`"`) {
		t.Errorf("%s does not lead to the address: %v", path, err)
	}
	for at, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", at, info.Mode(), err)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}
