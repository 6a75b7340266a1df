// Package artefact writes what a command leaves behind: the files in its folder, and those that its flags name.
//
// Goals: a file is there whole or as it was before, and on disk before it has its name. Nothing is overwritten or
// removed that this program has not written itself, or that was changed since. No two processes write into one folder.
// What an earlier run of a command left and this one did not is taken away. What cannot be written is told at the end,
// and keeps nothing else from being written or printed.
// Non-goals: what the files hold.
package artefact

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/gofrs/flock"
)

// The files by which a folder is known as this program's.
const (
	sumsFile = "fencepost.sums" // what it has left there
	lockFile = "fencepost.lock" // locked while one writes there
)

// File is a file in the folder of a command: its name, with slashes, and what it holds.
type File struct {
	Name    string
	Content []byte
}

// Files are all that one call of a command writes.
type Files struct {
	dir     string // empty if the command has no folder
	lock    *flock.Flock
	sums    sums
	written map[string]bool   // in this call, by name
	named   map[string]string // the flag that names a file elsewhere, by its path
	failed  []error
}

// New begins with no folder.
func New() *Files { return &Files{written: map[string]bool{}, named: map[string]string{}} }

// Take takes a folder for a command and keeps other processes out until Close. The folder is made if it is not there.
// An error says that it cannot be written to, that another process writes there, or that another command has left its
// files there.
func (f *Files) Take(dir, command string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot write to the folder %s: %w", dir, err)
	}
	f.dir = dir
	err := f.keepOthersOut()
	if err != nil {
		return err
	}
	if f.sums, err = readSums(filepath.Join(dir, sumsFile)); err != nil {
		return err
	}
	if f.sums.command != "" && f.sums.command != command {
		return fmt.Errorf("%s holds what fencepost %s has left; name another folder with --out", dir, f.sums.command)
	}
	f.sums.command = command
	return nil
}

// keepOthersOut locks the folder.
func (f *Files) keepOthersOut() error {
	for {
		lock := flock.New(filepath.Join(f.dir, lockFile))
		switch free, err := lock.TryLock(); {
		case err != nil:
			return fmt.Errorf("cannot write to the folder %s: %w", f.dir, err)
		case !free:
			return fmt.Errorf("another fencepost is writing to the folder %s: wait for it, or name another folder "+
				"with --out", f.dir)
		}
		held, err := lock.Stat()
		there, gone := os.Stat(lock.Path())
		if err == nil && gone == nil && os.SameFile(held, there) {
			f.lock = lock
			return nil
		}
		lock.Close() // the process that had it has removed it since it was opened here
	}
}

// Close lets other processes in.
func (f *Files) Close() {
	if f != nil && f.lock != nil {
		os.Remove(f.lock.Path()) // while it is locked
		f.lock.Close()
		f.lock = nil
	}
}

// Spare refuses the names in the folder under which something lies that Keep would not overwrite.
func (f *Files) Spare(names ...string) error {
	for _, name := range names {
		if _, err := f.before(name); err != nil {
			return err
		}
	}
	return nil
}

// Adopt takes a file in the folder for this program's, which has recognised it by what it holds.
func (f *Files) Adopt(name string, content []byte) { f.sums.add(name, sumOf(content)) }

// before is what lies under a name in the folder: nil if nothing does. An error says that it is not to be overwritten.
func (f *Files) before(name string) ([]byte, error) {
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	content, err := readRegular(path)
	if content == nil || err != nil {
		return nil, err
	}
	if !slices.Contains(f.sums.of[name], sumOf(content)) {
		return content, fmt.Errorf("%s is not a file that fencepost has left there, or was changed since: "+
			"remove it, or name another folder with --out", path)
	}
	return content, nil
}

// Keep writes files into the folder. Err tells what went wrong.
func (f *Files) Keep(files ...File) {
	if f.dir == "" {
		return
	}
	var changed []File
	for _, file := range files {
		before, err := f.before(file.Name)
		if before != nil && string(before) == string(file.Content) {
			if err == nil {
				f.written[file.Name], f.sums.of[file.Name] = true, []string{sumOf(before)}
			}
			continue
		}
		if err != nil {
			f.Fail(err)
			continue
		}
		f.sums.of[file.Name] = nil
		if before != nil {
			f.sums.add(file.Name, sumOf(before))
		}
		f.sums.add(file.Name, sumOf(file.Content)) // known as ours before it is there: a kill in between loses nothing
		changed = append(changed, file)
	}
	if len(changed) == 0 {
		return
	}
	if err := f.saveSums(); err != nil {
		f.Fail(err)
		return
	}
	for _, file := range changed {
		path := filepath.Join(f.dir, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			f.Fail(err)
			continue
		}
		f.written[file.Name] = true
		f.Fail(replace(filepath.Join(f.dir, ".fencepost-new"), path, file.Content))
	}
}

// Finish takes away what an earlier call of the command left in the folder and this one has not written, and gives Err.
// It is called when all is written.
func (f *Files) Finish() error {
	if f.dir == "" || len(f.failed) > 0 {
		return f.failure()
	}
	for _, name := range f.sums.names() {
		if f.written[name] {
			f.sums.of[name] = f.sums.of[name][len(f.sums.of[name])-1:] // the new one
			continue
		}
		path := filepath.Join(f.dir, filepath.FromSlash(name))
		if before, err := f.before(name); before != nil && err == nil {
			f.Fail(os.Remove(path))
			for dir := filepath.Dir(path); dir != f.dir && os.Remove(dir) == nil; { // only if it is empty
				dir = filepath.Dir(dir)
			}
		}
		delete(f.sums.of, name)
	}
	f.Fail(f.saveSums())
	return f.failure()
}

// Fail notes what went wrong with some file; nil is nothing.
func (f *Files) Fail(err error) {
	same := func(e error) bool { return e.Error() == err.Error() }
	if err != nil && !slices.ContainsFunc(f.failed, same) {
		f.failed = append(f.failed, err)
	}
}

// failure is all that went wrong, in the order in which it did; nil if nothing.
func (f *Files) failure() error { return errors.Join(f.failed...) }

func (f *Files) saveSums() error {
	return replace(filepath.Join(f.dir, ".fencepost-new"), filepath.Join(f.dir, sumsFile), f.sums.encode())
}

// readRegular reads a file: nil if there is none. An error says that something else than a file lies there.
func readRegular(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file: remove it, or name another", path)
	}
	content, err := os.ReadFile(path)
	if content == nil {
		content = []byte{}
	}
	return content, err
}

// replace writes beside the file and renames, so that a kill or a loss of power at any moment leaves the old file or
// the new one, whole.
func replace(beside, path string, content []byte) error {
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		os.Remove(beside)
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder puts the names in a folder on disk. Windows has no call for it.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
