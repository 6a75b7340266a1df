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

// TestFoldersAreSorted checks that a process sees the entries of a folder in the order of their names, even if it reads
// them in several calls or starts in the middle. Wrong calls must fail as they do in the kernel.
func TestFoldersAreSorted(t *testing.T) {
	small, large := t.TempDir(), t.TempDir()
	var made []error
	for i := range 1000 {
		name := fmt.Sprint(i*1237%1000, strings.Repeat("-", 40))
		made = append(made, os.WriteFile(filepath.Join(large, name), nil, 0o600))
	}
	for _, name := range []string{"zoo", "3", "20", "a file", "-", strings.Repeat("x", 37)} {
		made = append(made, os.WriteFile(filepath.Join(small, name), nil, 0o600))
	}
	made = append(made, os.Mkdir(filepath.Join(small, "folder"), 0o700))
	if err := errors.Join(made...); err != nil {
		t.Fatal(err)
	}
	r := newStage(t, 0).run(1, 0, nil, python(t, "testdata/folder.py", small, large)...)
	if r.err != nil || r.exit != (Exit{}) {
		t.Fatalf("%v, it %v: %s", r.err, r.exit, r.printed)
	}
	const last = `"20", "3", "a file", "folder", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "zoo"]` + "\n"
	each := `["-", ".", "..", ` + last + "[8, 4, 4, 8, 8, 8, 4, 8, 8]\n[" + last
	if want := "[1000, true]\n" + `["-", ` + last + each + each + "EINVAL\nENOTDIR\nEBADF\n"; r.printed != want {
		t.Errorf("printed\n%s\nwant\n%s", r.printed, want)
	}
}
