// Package safefile writes all the files that the program leaves behind for its users.
//
// Goals: after a crash, a file has either its complete old content or its complete new content. The new content is on
// disk before the file gets its name. A folder may come from another user and contain symbolic links; the program never
// writes through these, and no link leads it out of the folder.
//
// Non-goals: deciding what may be overwritten. That is up to the callers.
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

// Folder is a folder to write files in. File names use slashes, and cannot refer to anything outside the folder.
type Folder struct {
	root *os.Root
	// Before is called before each change on disk, with a description of the change. If it returns an error, the change
	// is not made and fails with that error. If Before is nil, all changes are made. Tests use it to stop a program at
	// each change.
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

// Name returns the path that was used to open the folder.
func (f *Folder) Name() string { return f.root.Name() }

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// change calls Before, if it is set, to ask whether a change on disk may be made. It returns the error from Before.
func (f *Folder) change(what string) error {
	if f.Before == nil {
		return nil
	}
	return f.Before(what)
}

// Read returns a file's content, or nil if the file does not exist. It returns an error if the file is not a regular
// file.
func (f *Folder) Read(name string) ([]byte, error) {
	name = filepath.FromSlash(name)
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: remove it, or name another file", filepath.Join(f.Name(),
			name))
	}
	content, err := f.root.ReadFile(name)
	if content == nil {
		content = []byte{}
	}
	return content, err
}

// Glob returns the names in the folder that match a path.Match pattern, sorted.
func (f *Folder) Glob(pattern string) ([]string, error) { return fs.Glob(f.root.FS(), pattern) }

// Remove removes a file, and then each of its parent folders that is now empty.
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

// Write replaces a file's content. It creates the file and its parent folders if necessary. If name is a symbolic link,
// Write replaces the link.
//
// If the process is killed or the power fails, either the complete old file or the complete new file remains. A
// temporary file may be left behind as well; Sweep removes it. If Write fails, for example because the disk is full,
// the error names the file. The old file then remains, unless only the last step failed, which flushes the folder to
// disk.
func (f *Folder) Write(name string, content []byte) error {
	name = filepath.FromSlash(name)
	if err := f.write(name, content); err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(f.Name(), name), Reason(err))
	}
	return nil
}

// Reason returns what is wrong with a file. If the error is a [fs.PathError], as most errors from package os are,
// Reason strips the operation and the file name. Other errors are returned unchanged. Use it in messages that already
// name the file, because the error might name a temporary file instead.
func Reason(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func (f *Folder) write(name string, content []byte) error {
	beside, err := f.writeTemporary(content)
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

// writeTemporary writes content to a new file with an unpredictable name directly in f, and returns the name.
func (f *Folder) writeTemporary(content []byte) (name string, err error) {
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

// sync flushes a folder's entries to disk. It does nothing on Windows, which has no such operation.
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

// temporary is the prefix of incomplete files' names.
const temporary = ".fencepost-new-"

var temporaries = regexp.MustCompile(`^` + regexp.QuoteMeta(temporary) + `[0-9a-f]{16}$`)

// isTemporary reports whether a file with this name is a temporary file, which Write leaves behind if the process is
// killed.
func isTemporary(name string) bool { return temporaries.MatchString(name) }

// Sweep removes the temporary files that a killed process left behind. No other process may be writing to the folder.
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

// Replace replaces the content of the file at path, the way Folder.Write does.
func Replace(path string, content []byte) error {
	f, err := Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(f.Write(filepath.Base(path), content), f.Close())
}

// Create creates a file and opens it for appending. The error matches fs.ErrExist if the name is taken, even by a
// symbolic link.
func Create(path string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, mode)
}

// Discard removes a file made by Create that could not be written.
func Discard(file *os.File) error { return errors.Join(file.Close(), os.Remove(file.Name())) }

// Append appends to a file or device that the user chose. It creates the file if necessary and follows symbolic links.
// If the content cannot be written completely, a regular file keeps its old content.
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

// Writable creates a folder if necessary, and checks that files can be created in it.
func Writable(dir string) error {
	f, err := Open(dir)
	if err != nil {
		return err
	}
	name, err := f.writeTemporary(nil)
	if err == nil {
		err = f.root.Remove(name)
	}
	return errors.Join(err, f.Close())
}
