//go:build linux && amd64

package traced

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder makes a folder that contains the given number of files, and another folder.
func folder(t *testing.T, files int) (dir string) {
	dir = t.TempDir()
	made := []error{os.Mkdir(filepath.Join(dir, "5"), 0o700)}
	for i := range files {
		name := fmt.Sprint(i*1237%files, strings.Repeat("-", 34+i%3))
		made = append(made, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	if err := errors.Join(made...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFoldersAreSorted checks that a process sees the entries of a folder sorted by name, even if it reads them in
// several calls or goes back to an entry in the middle.
func TestFoldersAreSorted(t *testing.T) {
	r := newStage(t, 0).run(1, 0, nil, python(t, "testdata/folder.py", folder(t, 100), "order")...)
	if want := strings.Repeat("103 True\n", 8); r.err != nil || r.exit != (Exit{}) || r.printed != want {
		t.Errorf("%v, it %v and prints\n%s", r.err, r.exit, r.printed)
	}
}
