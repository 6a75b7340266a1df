// Package safefile writes every file that this program leaves to its users.
//
// Goals: a file is either complete or as it was before, and is on disk before it has its name. It is written under the
// name that was requested: no symbolic link is written through, and none leads out of a folder, since the folder may
// come from somebody else and contain links. Non-goals: what may be overwritten, which the callers decide.
package safefile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
)

// Folder is a folder that is written to. Names in it use slashes and cannot lead out of it.
type Folder struct {
	root *os.Root
	// Before is called before each change of the disk, with a description of it. If it returns an error, the change is
	// not made and fails with that error. Nil permits everything; tests stop a program at each change.
	Before func(change string) error
}

// Open opens a folder, creating it if necessary. The caller must close it.
func Open(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{root: root}, nil
}

// Name is the path by which the folder was opened.
func (f *Folder) Name() string { return f.root.Name() }

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// change asks whether a change of the disk may be made.
func (f *Folder) change(what string) error {
	if f.Before == nil {
		return nil
	}
	return f.Before(what)
}

// Read returns the content of a file: nil if there is none. It is an error if the name is not a file's.
func (f *Folder) Read(name string) ([]byte, error) {
	name = filepath.FromSlash(name)
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file: remove it, or name another", filepath.Join(f.Name(), name))
	}
	content, err := f.root.ReadFile(name)
	if content == nil {
		content = []byte{}
	}
	return content, err
}

// Remove removes a file, and the parent folders that are then empty.
func (f *Folder) Remove(name string) error {
	if err := f.change("remove " + name); err != nil {
		return err
	}
	err := f.root.Remove(filepath.FromSlash(name))
	for dir := path.Dir(name); err == nil && dir != "." && f.root.Remove(filepath.FromSlash(dir)) == nil; {
		dir = path.Dir(dir)
	}
	return err
}

// Write replaces the content of a file, creating it and its parent folders if necessary. A kill or a loss of power at
// any moment leaves the complete old file or the complete new one, and at most one file with a temporary name, which
// Sweep removes. A link of that name is replaced. An error, such as of a full disk, names the file; the old one is left
// then.
func (f *Folder) Write(name string, content []byte) error {
	name = filepath.FromSlash(name)
	if err := f.write(name, content); err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(f.Name(), name), reason(err))
	}
	return nil
}

// reason is an error without the temporary name of a file.
func reason(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func (f *Folder) write(name string, content []byte) error {
	beside, err := f.beside(content)
	if err != nil {
		return err
	}
	err = f.change("rename to " + name)
	if err == nil {
		err = f.root.MkdirAll(filepath.Dir(name), 0o777)
	}
	if err == nil {
		err = f.root.Rename(beside, name)
	}
	if err != nil {
		if f.change("remove "+beside) == nil {
			f.root.Remove(beside)
		}
		return err
	}
	return f.sync(filepath.Dir(name))
}

// beside writes a new file under a name that cannot be predicted, and returns the name.
func (f *Folder) beside(content []byte) (name string, err error) {
	var random [8]byte
	rand.Read(random[:])
	name = temporary + hex.EncodeToString(random[:])
	if err := f.change("create " + name); err != nil {
		return "", err
	}
	file, err := f.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return "", err
	}
	if err = f.change("write " + name); err == nil {
		_, err = file.Write(content)
	}
	if err == nil {
		err = f.change("sync " + name)
	}
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err != nil && f.change("remove "+name) == nil {
		f.root.Remove(name)
	}
	return name, err
}

// sync writes the names in a folder to disk. Windows has no call for it.
func (f *Folder) sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	if err := f.change("sync " + dir); err != nil {
		return err
	}
	d, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// temporary is the prefix of files that are not complete yet.
const temporary = ".fencepost-new-"

var temporaries = regexp.MustCompile(`^` + regexp.QuoteMeta(temporary) + `[0-9a-f]{16}$`)

// isTemporary reports whether a name is that of a file that Write had begun when it was killed.
func isTemporary(name string) bool { return temporaries.MatchString(name) }

// Sweep removes the temporary files of a process that was killed. No other process may be writing there.
func (f *Folder) Sweep() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	list, err := dir.ReadDir(-1)
	for _, entry := range list {
		if isTemporary(entry.Name()) {
			err = errors.Join(err, f.Remove(entry.Name()))
		}
	}
	return err
}

// Replace replaces the content of the file at path, as Folder.Write does.
func Replace(path string, content []byte) error {
	f, err := Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(f.Write(filepath.Base(path), content), f.Close())
}

// Create creates a file, which is written at its end. The error matches fs.ErrExist if anything has that name, a link
// included.
func Create(path string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, mode)
}

// Discard removes a file that Create has created and that cannot be written.
func Discard(file *os.File) error { return errors.Join(file.Close(), os.Remove(file.Name())) }

// Append appends to a file or a device of the user's choice, creating a file if necessary. If the user names a link, it
// is followed. A file that cannot be written whole is left as it was.
func Append(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	before, sized := file.Stat()
	_, err = file.Write(content)
	if err != nil && sized == nil && before.Mode().IsRegular() {
		err = errors.Join(err, file.Truncate(before.Size()))
	}
	return errors.Join(err, file.Close())
}

// Writable creates a folder if necessary, and tries to write in it.
func Writable(dir string) error {
	f, err := Open(dir)
	if err != nil {
		return err
	}
	name, err := f.beside(nil)
	if err == nil {
		err = f.root.Remove(name)
	}
	return errors.Join(err, f.Close())
}
