package output

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/checker/safefile"
)

// fileKind is the kind of a file that a flag names, by which one of this program's is recognised.
type fileKind uint8

const (
	webPage fileKind = iota // HTML or XML: it ends with a comment that seals the rest
	metrics                 // OpenMetrics, which has no place for one: each of its samples has a scenario
)

const sealBegin, sealEnd = "<!-- fencepost ", " -->\n"

// seal appends a comment with the sum of the text.
func seal(text []byte) []byte {
	return append(bytes.Clone(text), sealBegin+sumOf(text)+sealEnd...)
}

// ours reports whether a file is of this kind, written by this program and unchanged since.
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

// claim checks, before anything runs, that the file that a flag names can be written, and that nothing is lost by it.
// An empty path is none.
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
	if err := safefile.Writable(filepath.Dir(real)); err != nil {
		return fmt.Errorf("cannot write to the folder %s: %w", filepath.Dir(path), err)
	}
	return nil
}

// open resolves a path, and refuses to overwrite what is not this program's.
func (f *Files) open(path string, kind fileKind) (real string, err error) {
	if real, err = filepath.Abs(path); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return "", errors.New("is a link that leads nowhere: remove it, or name another")
		}
		return real, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errors.New("is a folder; name a file in it")
	case !info.Mode().IsRegular(): // a terminal, a pipe, /dev/null
		return real, nil
	}
	if real, err = filepath.EvalSymlinks(real); err != nil {
		return "", err
	}
	content, err := os.ReadFile(real)
	if err == nil && len(content) > 0 && !kind.ours(content) {
		err = errors.New("is not a file that fencepost has written, or was changed since: remove it, or name another")
	}
	return real, err
}

// write writes a file that a flag names, or one beside it. Err returns what went wrong.
func (f *Files) write(path string, kind fileKind, content []byte) {
	real, err := f.open(path, kind)
	if err != nil {
		f.Fail(fmt.Errorf("%s %w", path, err))
		return
	}
	if kind == webPage {
		content = seal(content)
	}
	if info, err := os.Stat(real); err == nil && !info.Mode().IsRegular() {
		f.Fail(safefile.Append(real, content))
		return
	}
	f.Fail(safefile.Replace(real, content))
}

// Create writes a file for the user to edit, whose it is from then on. An error says that the file exists already, or
// cannot be written.
func Create(path string, content []byte) error {
	file, err := safefile.Create(path, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already: remove it, or name another file", path)
	}
	if err != nil {
		return err
	}
	if _, err = file.Write(content); err != nil {
		return errors.Join(err, safefile.Discard(file))
	}
	return file.Close()
}
