package output

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/checker/safefile"
)

// fileKind is a kind of file that a flag names. It determines how the program recognizes a file that it has written.
type fileKind uint8

const (
	webPage fileKind = iota // HTML or XML; a comment at the end contains the hash of the rest
	// A file in the OpenMetrics format. This format does not allow a comment such as the one at the end of a webPage.
	// The program recognizes its own files by the "scenario" label, which each sample has.
	metrics
)

const sealBegin, sealEnd = "<!-- fencepost ", " -->\n"

// seal appends a comment with the hash of the text.
func seal(text []byte) []byte {
	return append(bytes.Clone(text), sealBegin+sumOf(text)+sealEnd...)
}

// ours reports whether this program has written content as a file of this kind. For a webPage, it also checks that
// nobody has changed the file since.
func (k fileKind) ours(content []byte) bool {
	if k == metrics {
		for line := range bytes.Lines(content) {
			if !bytes.HasPrefix(line, []byte("# ")) && !bytes.Contains(line, []byte("{scenario=")) {
				return false
			}
		}
		return bytes.HasSuffix(content, []byte("# EOF\n"))
	}
	at := bytes.LastIndex(content, []byte(sealBegin))
	return at >= 0 && string(seal(content[:at])) == string(content)
}

// claim checks, before anything runs, that a file named by a flag can be written without overwriting the user's data.
// It ignores an empty path.
func (f *Files) claim(flag, path string, kind fileKind) error {
	if path == "" {
		return nil
	}
	real, err := f.open(path, kind)
	if err != nil {
		return fmt.Errorf("--%s %s %w", flag, path, err)
	}
	if other, twice := f.named[real]; twice {
		return fmt.Errorf("--%s and --%s name the same file, %s", other, flag, path)
	}
	f.named[real] = flag
	if isSpecial(real) { // nothing will be created in its folder
		return nil
	}
	if err := safefile.Writable(filepath.Dir(real)); err != nil {
		return fmt.Errorf("cannot write to the folder %s: %w", filepath.Dir(path), err)
	}
	return nil
}

// open resolves a path. It returns an error if the path is a folder, or a file that this program has not written.
func (f *Files) open(path string, kind fileKind) (real string, err error) {
	if real, err = filepath.Abs(path); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return "", errors.New("is a link to a file that does not exist: remove it, or name another file")
		}
		return real, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errors.New("is a folder; name a file in it")
	case isSpecial(path):
		return real, nil
	}
	if real, err = filepath.EvalSymlinks(real); err != nil {
		return "", err
	}
	content, err := os.ReadFile(real)
	if err == nil && len(content) > 0 && !kind.ours(content) {
		err = errors.New("was not written by fencepost, or has been changed since: remove it, or name another")
	}
	return real, err
}

// write writes a file that a flag names, or a page next to it. If that fails, Finish returns the error.
func (f *Files) write(path string, kind fileKind, content []byte) {
	real, err := f.open(path, kind)
	if err != nil {
		f.Fail(fmt.Errorf("%s %w", path, err))
		return
	}
	if kind == webPage {
		content = seal(content)
	}
	if isSpecial(real) {
		f.Fail(safefile.Append(real, content))
		return
	}
	f.Fail(safefile.Replace(real, content))
}

// isSpecial reports whether a path names something that can be written to but not replaced, such as a terminal, a pipe
// or /dev/null.
func isSpecial(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// Create writes a new file for the user to edit; the program does not overwrite it later. Create returns an error if
// the file already exists or cannot be written.
func Create(path string, content []byte) error {
	file, err := safefile.Create(path, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s already exists: remove it, or name another file", path)
	}
	if err != nil {
		return err
	}
	if _, err = file.Write(content); err != nil {
		return errors.Join(err, safefile.Discard(file))
	}
	return file.Close()
}
