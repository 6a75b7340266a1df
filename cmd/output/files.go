package output

// This file writes a command's output files: those in its folder, and those named by its flags. The rules are:
//   - It overwrites and removes only files that this program has written and nobody has changed since.
//   - Two processes never write to the same folder at the same time.
//   - Files left by an earlier invocation of a command are removed, unless this one has written them again.
//   - The checksums in the folder agree with its files, even if the program is killed.
//   - If a file cannot be written, the error is reported at the end. The other files and the report are still written.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/fencepost-sim/fencepost/checker/safefile"
)

// The names of the files that mark a folder as belonging to this program.
const (
	sumsFile = "fencepost.sums" // the checksums of the files that the program has written to the folder
	lockFile = "fencepost.lock" // locked while a process writes to the folder
)

// File is a file in a command's folder. Its name may contain slashes.
type File struct {
	Name    string
	Content []byte
}

// Files contains all files written by one invocation of a command.
type Files struct {
	dir     string           // empty if the command has no folder
	folder  *safefile.Folder // the open folder at that path
	lock    *flock.Flock
	sums    sums
	written map[string]bool   // names of files that this invocation has written
	named   map[string]string // for each path that a flag names, the name of the flag
	failed  []error
}

// New returns Files for a command that has no folder yet.
func New() *Files { return &Files{written: map[string]bool{}, named: map[string]string{}} }

// Take opens a folder for a command and locks it until Close, so that no other process writes to it. It creates the
// folder if it does not exist. It returns an error if the folder cannot be written to, if another process is writing to
// it, or if it contains another command's files.
func (f *Files) Take(dir, command string) error {
	folder, err := safefile.Open(dir)
	if err != nil {
		return fmt.Errorf("cannot write to the folder %s: %w", dir, err)
	}
	f.dir, f.folder = dir, folder
	if err := f.keepOthersOut(); err != nil {
		return err
	}
	if err := f.folder.Sweep(); err != nil {
		return fmt.Errorf("cannot write to the folder %s: %w", dir, err)
	}
	if f.sums, err = readSums(f.folder); err != nil {
		return err
	}
	if f.sums.command != "" && f.sums.command != command {
		return fmt.Errorf("%s holds the results of fencepost %s; name another folder with --out", dir, f.sums.command)
	}
	f.sums.command = command
	return nil
}

// keepOthersOut locks the folder, so that no other process writes to it.
func (f *Files) keepOthersOut() error {
	for {
		lock := flock.New(filepath.Join(f.dir, lockFile), flock.SetFlag(os.O_CREATE|os.O_RDONLY|safefile.NoFollow))
		switch free, err := lock.TryLock(); {
		case err != nil:
			return fmt.Errorf("cannot write to the folder %s: %w", f.dir, err)
		case !free:
			return fmt.Errorf("another fencepost process is writing to the folder %s: "+
				"wait for it, or name another folder with --out", f.dir)
		}
		held, err := lock.Stat()
		there, gone := os.Stat(lock.Path())
		if err == nil && gone == nil && os.SameFile(held, there) {
			f.lock = lock
			return nil
		}
		lock.Close() // another process held the lock and removed this file after it was opened here
	}
}

// Close unlocks the folder for other processes.
func (f *Files) Close() {
	if f == nil || f.folder == nil {
		return
	}
	if f.lock != nil {
		f.folder.Remove(lockFile) // while the folder is still locked
		f.lock.Close()
		f.lock = nil
	}
	f.folder.Close()
	f.folder = nil
}

// Spare returns an error if the folder contains a file with one of the given names that must not be overwritten. Call
// it before doing a command's work, with the names of all files that the command may write. A name that contains an
// asterisk is a pattern for path.Match.
func (f *Files) Spare(names ...string) error {
	for _, name := range names {
		matching := []string{name}
		if strings.Contains(name, "*") {
			var err error
			if matching, err = f.folder.Glob(name); err != nil {
				return fmt.Errorf("cannot read the folder %s: %w", f.dir, err)
			}
		}
		for _, name := range matching {
			if _, err := f.existing(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Adopt records that this program has written a file in the folder, so that the file may be overwritten. Before calling
// Adopt, the caller must make sure that the content is from this program.
func (f *Files) Adopt(name string, content []byte) { f.sums.settle(name, sumOf(content)) }

// existing returns the contents of a file in the folder, or nil if it does not exist. It returns an error if the file
// must not be overwritten.
func (f *Files) existing(name string) ([]byte, error) {
	content, err := f.folder.Read(name)
	if content == nil || err != nil {
		return nil, err
	}
	if !slices.Contains(f.sums.of[name], sumOf(content)) {
		return content, fmt.Errorf("%s was not written by fencepost, or has been changed since: "+
			"remove it, or name another folder with --out", filepath.Join(f.dir, filepath.FromSlash(name)))
	}
	return content, nil
}

// Keep writes files to the folder. If one cannot be written, Finish returns the error.
func (f *Files) Keep(files ...File) {
	if f.dir == "" {
		return
	}
	var changed []File
	for _, file := range files {
		switch before, err := f.existing(file.Name); {
		case err != nil:
			f.Fail(err)
		case before != nil && string(before) == string(file.Content):
			f.written[file.Name] = true
			f.sums.settle(file.Name, sumOf(before))
		default:
			f.sums.unsettle(file.Name, before, file.Content)
			changed = append(changed, file)
		}
	}
	if len(changed) == 0 {
		return
	}
	if err := f.saveSums(); err != nil { // record the sums before the files exist
		f.Fail(err)
		return
	}
	for _, file := range changed {
		f.written[file.Name] = true
		err := f.folder.Write(file.Name, file.Content)
		if f.Fail(err); err == nil {
			f.sums.settle(file.Name, sumOf(file.Content))
		}
	}
	f.Fail(f.saveSums())
}

// Finish removes files that an earlier invocation of the command left in the folder and that this one has not written.
// It returns all errors so far. Call it once all files have been written.
func (f *Files) Finish() error {
	if f.dir == "" || len(f.failed) > 0 {
		return f.failure()
	}
	stale := slices.DeleteFunc(f.sums.names(), func(name string) bool { return f.written[name] })
	for _, name := range stale {
		if before, err := f.existing(name); before == nil || err != nil {
			delete(f.sums.of, name) // the file was removed, or somebody else changed it
		} else {
			f.sums.unsettle(name, before, nil)
		}
	}
	if f.Fail(f.saveSums()); len(stale) == 0 || len(f.failed) > 0 {
		return f.failure()
	}
	for _, name := range stale {
		if f.sums.of[name] == nil {
			continue
		}
		err := f.folder.Remove(name)
		if f.Fail(err); err == nil {
			delete(f.sums.of, name)
		}
	}
	f.Fail(f.saveSums())
	return f.failure()
}

// Fail records an error for Finish to return. It ignores nil.
func (f *Files) Fail(err error) {
	same := func(e error) bool { return e.Error() == err.Error() }
	if err != nil && !slices.ContainsFunc(f.failed, same) {
		f.failed = append(f.failed, err)
	}
}

// failure returns all errors, in the order in which they occurred, or nil.
func (f *Files) failure() error { return errors.Join(f.failed...) }

func (f *Files) saveSums() error { return f.folder.Write(sumsFile, f.sums.encode()) }
