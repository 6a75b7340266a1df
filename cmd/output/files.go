package output

// What a command writes: the files in its folder, and those that its flags name. Nothing is overwritten or removed that
// this program has not written itself, or that was changed since; no two processes write into one folder. Files of an
// earlier run of a command that this one did not write are removed. Whenever the program is killed, the sums in the
// folder are those of the files there. What cannot be written is reported at the end, and keeps nothing else from being
// written or printed.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"github.com/fencepost-sim/fencepost/checker/safefile"
)

// The files that mark a folder as this program's.
const (
	sumsFile = "fencepost.sums" // what it has written there
	lockFile = "fencepost.lock" // locked while one writes there
)

// File is a file in the folder of a command: its name, with slashes, and its content.
type File struct {
	Name    string
	Content []byte
}

// Files are all files that one call of a command writes.
type Files struct {
	dir     string           // empty if the command has no folder
	folder  *safefile.Folder // of that path
	lock    *flock.Flock
	sums    sums
	written map[string]bool   // in this call, by name
	named   map[string]string // the flag that names a file elsewhere, by its path
	failed  []error
}

// New returns Files without a folder.
func New() *Files { return &Files{written: map[string]bool{}, named: map[string]string{}} }

// Take takes a folder for a command and keeps other processes out until Close. The folder is created if it does not
// exist. An error says that it cannot be written to, that another process writes there, or that another command has
// left its files there.
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
		return fmt.Errorf("%s holds what fencepost %s has left; name another folder with --out", dir, f.sums.command)
	}
	f.sums.command = command
	return nil
}

// keepOthersOut locks the folder.
func (f *Files) keepOthersOut() error {
	for {
		lock := flock.New(filepath.Join(f.dir, lockFile), flock.SetFlag(os.O_CREATE|os.O_RDONLY|safefile.NoFollow))
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
	if f == nil || f.folder == nil {
		return
	}
	if f.lock != nil {
		f.folder.Remove(lockFile) // while it is locked
		f.lock.Close()
		f.lock = nil
	}
	f.folder.Close()
	f.folder = nil
}

// Spare refuses the names in the folder whose files Keep would not overwrite.
func (f *Files) Spare(names ...string) error {
	for _, name := range names {
		if _, err := f.before(name); err != nil {
			return err
		}
	}
	return nil
}

// Adopt accepts a file in the folder as this program's, which has recognised it by its content.
func (f *Files) Adopt(name string, content []byte) { f.sums.settle(name, sumOf(content)) }

// before is the content of a file in the folder: nil if there is none. An error says that it is not to be overwritten.
func (f *Files) before(name string) ([]byte, error) {
	content, err := f.folder.Read(name)
	if content == nil || err != nil {
		return nil, err
	}
	if !slices.Contains(f.sums.of[name], sumOf(content)) {
		return content, fmt.Errorf("%s is not a file that fencepost has left there, or was changed since: "+
			"remove it, or name another folder with --out", filepath.Join(f.dir, filepath.FromSlash(name)))
	}
	return content, nil
}

// Keep writes files into the folder. Err returns what went wrong.
func (f *Files) Keep(files ...File) {
	if f.dir == "" {
		return
	}
	var changed []File
	for _, file := range files {
		switch before, err := f.before(file.Name); {
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
	if err := f.saveSums(); err != nil { // known as ours before they exist
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

// Finish removes what an earlier call of the command left in the folder and this one has not written, and returns Err.
// It is called when everything is written.
func (f *Files) Finish() error {
	if f.dir == "" || len(f.failed) > 0 {
		return f.failure()
	}
	stale := slices.DeleteFunc(f.sums.names(), func(name string) bool { return f.written[name] })
	for _, name := range stale {
		if before, err := f.before(name); before == nil || err != nil {
			delete(f.sums.of, name) // gone, or another's now
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

// Fail records what went wrong with some file; nil is ignored.
func (f *Files) Fail(err error) {
	same := func(e error) bool { return e.Error() == err.Error() }
	if err != nil && !slices.ContainsFunc(f.failed, same) {
		f.failed = append(f.failed, err)
	}
}

// failure is everything that went wrong, in order; nil if nothing did.
func (f *Files) failure() error { return errors.Join(f.failed...) }

func (f *Files) saveSums() error { return f.folder.Write(sumsFile, f.sums.encode()) }
