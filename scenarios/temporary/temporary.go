// Package temporary creates folders for data that a process needs only while it is running: a test binary, servers'
// data, a page with a secret.
//
// Goals: a folder is removed when its process closes it. If the process is killed, no matter when, the same user's next
// process that creates or closes a temporary folder removes what is left. A folder that is in use is never removed.
//
// Non-goals: ending processes started by a killed process; they may run for a moment longer and write to the folder
// again.
package temporary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/fencepost-sim/fencepost/checker/safefile"
)

// prefix begins the name of every folder and of its lock file. They are in the system's temporary folder.
const prefix = "fencepost-temporary-"

// A folder's lock file has the folder's name followed by suffix. A process locks this file before it creates, uses or
// removes the folder.
const suffix = ".lock"

// Folder is a temporary folder that only this user can read.
type Folder struct {
	path string
	lock *flock.Flock
}

// New creates an empty folder, and removes the folders left behind by this user's killed processes. The caller must
// close the Folder.
func New() (*Folder, error) {
	sweep()
	for {
		file, err := os.CreateTemp("", prefix+"*"+suffix)
		if err != nil {
			return nil, err
		}
		file.Close()
		f, err := claim(strings.TrimSuffix(file.Name(), suffix))
		switch {
		case err != nil:
			return nil, errors.Join(err, os.Remove(file.Name()))
		case f == nil:
			continue // another process removed the file before it was locked
		}
		if err := os.Mkdir(f.path, 0o700); err != nil {
			return nil, errors.Join(err, f.remove())
		}
		return f, nil
	}
}

// Path returns the folder's path.
func (f *Folder) Path() string { return f.path }

// Close removes the folder and everything in it. If that fails, the error says what remains, and a later process
// removes it.
func (f *Folder) Close() error {
	err := f.remove()
	sweep()
	return err
}

// remove removes a folder and its lock file.
func (f *Folder) remove() (err error) {
	for range 10 { // a process that was started there may still be creating a file
		if err = os.RemoveAll(f.path); err == nil {
			break
		}
	}
	if err != nil {
		return errors.Join(err, f.lock.Close())
	}
	open := os.Remove(f.lock.Path()) // Windows does not remove open files
	f.lock.Close()
	if open != nil {
		_ = os.Remove(f.lock.Path()) // if this fails, another process has locked the file and will remove it
	}
	return nil
}

// claim locks a folder, which may not exist yet. It returns nil if another process is using the folder or has removed
// it.
func claim(path string) (*Folder, error) {
	flags := os.O_RDONLY | safefile.NoFollow
	info, err := os.Lstat(path + suffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		flags |= os.O_CREATE | os.O_EXCL
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || !owned(info):
		return nil, nil
	}
	lock := flock.New(path+suffix, flock.SetFlag(flags), flock.SetPermissions(0o600))
	free, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", path+suffix, err)
	}
	if !free {
		return nil, nil
	}
	held, err := lock.Stat()
	there, gone := os.Stat(path + suffix)
	if err != nil || gone != nil || !os.SameFile(held, there) {
		return nil, lock.Close()
	}
	return &Folder{path, lock}, nil
}

// sweep removes each of this user's folders that no process is using. If it cannot remove a folder now, the next
// process will do so.
func sweep() {
	all, _ := os.ReadDir(os.TempDir())
	for _, entry := range all {
		if !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		name, isLock := strings.CutSuffix(entry.Name(), suffix)
		info, err := entry.Info() // symbolic links are not followed
		if err != nil || !owned(info) || !isLock && !info.IsDir() {
			continue
		}
		path := filepath.Join(os.TempDir(), name)
		if folder, err := os.Lstat(path); err == nil && (!folder.IsDir() || !owned(folder)) {
			continue
		}
		if f, err := claim(path); f != nil && err == nil {
			_ = f.remove()
		}
	}
}
