package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestWholeOrNotAtAll stops a replacement at each of its changes. The file must then have either its old or its new
// content, and the new content must be on disk before it gets the file's name. Any other file in the folder must have a
// temporary name, and Sweep must remove it.
func TestWholeOrNotAtAll(t *testing.T) {
	var changes []string
	for at := 0; ; at++ {
		dir := t.TempDir()
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write("a/plan.txt", []byte("old")); err != nil {
			t.Fatal(err)
		}
		left := at
		changes = nil
		f.Before = func(what string) error {
			if left--; left < 0 {
				return errors.New("killed")
			}
			what, _, _ = strings.Cut(what, " ")
			changes = append(changes, what)
			return nil
		}
		failed := f.Write("a/plan.txt", []byte("new"))
		f.Before = nil
		text, err := f.Read("a/plan.txt")
		want := map[bool]string{false: "old", true: "new"}[slices.Contains(changes, "rename")]
		if err != nil || string(text) != want {
			t.Errorf("stopped at %v: %q, %v", changes, text, err)
		}
		if err := f.Sweep(); err != nil {
			t.Error(err)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("stopped at %v: %v, %v", changes, list, err)
		}
		if failed == nil {
			break
		}
	}
	want := []string{"create", "write", "sync", "rename", "sync"}
	if runtime.GOOS != "windows" && !slices.Equal(changes, want) {
		t.Errorf("the changes are %v, want %v", changes, want)
	}
}

// TestWhatCannotBeWrittenIsNamed writes to a full disk. The error must name the file and the reason, and no temporary
// file may be left behind.
func TestWhatCannotBeWrittenIsNamed(t *testing.T) {
	for _, at := range []string{"create", "write", "sync", "rename"} {
		dir := t.TempDir()
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		f.Before = func(what string) error {
			if what, name, _ := strings.Cut(what, " "); what == at {
				return &fs.PathError{Op: what, Path: name, Err: syscall.ENOSPC}
			}
			return nil
		}
		err = f.Write("a/plan.txt", []byte("new"))
		want := "cannot write " + filepath.Join(dir, "a", "plan.txt") + ": " + syscall.ENOSPC.Error()
		if err == nil || err.Error() != want || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s fails: %v, want %s", at, err, want)
		}
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if !d.IsDir() {
				t.Errorf("%s fails: %s is left", at, path)
			}
			return err
		})
	}
}

// TestNoLinkIsWrittenThrough uses symbolic links. If a link has the file's name, Write must replace the link. If a
// folder is a link that leads out of the opened folder, Read, Write and Remove must refuse it. Create must not accept
// any link.
func TestNoLinkIsWrittenThrough(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	theirs := filepath.Join(other, "theirs")
	if err := os.WriteFile(theirs, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"plan.txt": theirs, "log.txt": theirs, "seed-1": other,
		"nowhere": filepath.Join(other, "x")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write("plan.txt", []byte("ours")); err != nil {
		t.Error(err)
	}
	if text, err := f.Read("plan.txt"); err != nil || string(text) != "ours" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"seed-1/theirs", "seed-1/new", "../x"} {
		if err := f.Write(name, []byte("ours")); err == nil {
			t.Errorf("%s was written", name)
		}
		if text, err := f.Read(name); err == nil {
			t.Errorf("%s was read: %q", name, text)
		}
		if err := f.Remove(name); err == nil {
			t.Errorf("%s was removed", name)
		}
	}
	for _, name := range []string{"nowhere", "log.txt", "seed-1"} {
		if _, err := Create(filepath.Join(dir, name), 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile(theirs)
	list, _ := os.ReadDir(other)
	if err != nil || string(text) != "theirs" || len(list) != 1 {
		t.Errorf("%q, %v, %v", text, err, list)
	}
}
