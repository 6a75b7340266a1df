package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/safefile"
)

// FileName is the name of the file in an embedded server's folder that contains everything a worker needs to join.
const FileName = "access.json"

// Folder is a folder that belongs to this user and that nobody else can read or write. Its files are opened relative to
// the open folder, so replacing the folder at its path does not redirect access.
type Folder struct {
	*os.Root
	path string
}

// Open opens a folder. The error is fs.ErrNotExist if the folder does not exist. Open also fails if other users may
// read or change its contents.
func Open(path string) (*Folder, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", path)
	}
	if err := guarded(filepath.Dir(path)); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil {
		err = private(path, info)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return &Folder{root, path}, nil
}

// guarded returns an error if another user could replace a folder's contents. This is possible if the folder belongs to
// anyone but this user and root, or if every user may write to it or to one of its parents.
func guarded(path string) error {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if first && !owned(info) && !ownedByRoot(info) {
			return fmt.Errorf("the folder %s belongs to another user: choose one of your own", path)
		}
		if writable(info) {
			return fmt.Errorf("every user can write to the folder %s: "+
				"choose another folder, or run chmod o-w on it", path)
		}
		above := filepath.Dir(path)
		if above == path {
			return nil
		}
		path = above
	}
}

// private returns an error if other users may read or change a file or folder.
func private(path string, info fs.FileInfo) error {
	mode := "600"
	if info.IsDir() {
		mode = "700"
	}
	switch {
	case !owned(info):
		return fmt.Errorf("refusing to use %s: it belongs to another user", path)
	case !closed(info):
		return fmt.Errorf("refusing to use %s, because other users can access it: "+
			"if nobody else has changed it, run chmod %s %[1]s", path, mode)
	}
	return nil
}

// mostBytes is the maximum size, in bytes, of a file to read.
const mostBytes = 1 << 20

// Read reads a file in the folder. The error is fs.ErrNotExist if the file does not exist. Read also fails if other
// users may read or change the file.
func (f *Folder) Read(name string) ([]byte, error) {
	info, err := f.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", filepath.Join(f.path, name))
	}
	file, err := f.Root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readPrivate(file, filepath.Join(f.path, name))
}

func readPrivate(file *os.File, path string) ([]byte, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err == nil {
		err = private(path, info)
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		err = fmt.Errorf("%s is larger than %d bytes", path, mostBytes)
	}
	return text, err
}

// Write writes a file to the folder. Only the current user can read the file. Write replaces an existing file
// atomically.
func (f *Folder) Write(name string, text []byte) error {
	fresh := name + ".new"
	if err := f.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := f.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(f.path, name), safefile.Reason(err))
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.Rename(fresh, name)
	}
	if err != nil {
		f.Remove(fresh)
		return fmt.Errorf("cannot write %s: %w", filepath.Join(f.path, name), safefile.Reason(err))
	}
	return nil
}

// Server reads the file that says how to reach the folder's server. The error is fs.ErrNotExist if there is no such
// file. Any other error says what is wrong with the file.
func (f *Folder) Server() (*Server, error) {
	text, err := f.Read(FileName)
	if err != nil {
		return nil, err
	}
	a, err := parse(filepath.Join(f.path, FileName), text)
	if err == nil && (len(a.Token) < leastToken || a.Certificate == "") {
		err = fmt.Errorf("%s lacks the token or the certificate of the server: "+
			"remove the file and start the campaign again", filepath.Join(f.path, FileName))
	}
	if err != nil {
		return a, err
	}
	if err := a.local(); err != nil {
		return a, fmt.Errorf("%s: %w", filepath.Join(f.path, FileName), err)
	}
	return a, nil
}

// leastToken is the minimum length of an embedded server's token, in characters.
const leastToken = 26

// local returns an error unless every URL has the scheme tls, no user, and a host on the loopback interface. If the
// user chose the address on which the server listens, other hosts are also allowed.
func (a *Server) local() error {
	all, err := a.urls()
	if err != nil {
		return err
	}
	for _, u := range all {
		if u.User != nil || u.Scheme != "tls" || a.Listen == "" && !loopback(u.Hostname()) {
			return fmt.Errorf("%s is not an address at which the server of this folder listens: "+
				"somebody may have changed the file; remove it and start the campaign again", a.Shown())
		}
	}
	return nil
}

// Save writes the file that says how to reach the folder's server.
func (f *Folder) Save(a *Server) error {
	text, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return f.Write(FileName, append(text, '\n'))
}

// ReadFile reads a file that says how to reach a server: a copy of an embedded server's file, or a file written by a
// user.
func ReadFile(path string) (*Server, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := readPrivate(file, path)
	if err != nil {
		return nil, err
	}
	return parse(path, text)
}

func parse(path string, text []byte) (*Server, error) {
	a := &Server{}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(a); err != nil || d.More() {
		return nil, fmt.Errorf("cannot parse %s: it must be JSON with url, token and certificate, "+
			"like the %s in a campaign's folder", path, FileName) // the decoder's error might quote part of the token
	}
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}
