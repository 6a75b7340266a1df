package reading

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// File is the history in a file, together with facts that affect its verdict.
type File struct {
	Part
	Untimed bool // whether the operations state no times; they are then drawn one millisecond apart
}

// Read reads a history in Fencepost's own JSON lines or in Jepsen's EDN, detecting which it is. An error begins with
// the file's name. If it is about a line, it gives the line number.
func Read(name string, r io.Reader) (*File, error) {
	return readInto(slices.Grow([]history.Event(nil), lines(r)), name, r)
}

// ReadAll reads files that will be merged into one history. All files' events are stored in a single array, one file
// after another, so that [Together] can sort them in place. Do not append to them. If the number of events cannot be
// estimated beforehand, as with a pipe, the file's events get an array of their own.
func ReadAll(names []string, from []io.Reader) (files []*File, err error) {
	n := 0
	for _, r := range from {
		n += lines(r)
	}
	room := slices.Grow([]history.Event(nil), n)
	for i, r := range from {
		f, err := readInto(room, names[i], r)
		if err != nil {
			return nil, err
		}
		if inside := len(room) + len(f.History.Events); inside <= cap(room) {
			room = room[:inside]
		}
		files = append(files, f)
	}
	return files, nil
}

// readInto reads a history. The events are appended to room, which is reused if it has enough capacity. The file's
// history contains only the new events.
func readInto(room []history.Event, name string, r io.Reader) (*File, error) {
	in := bufio.NewReaderSize(&bounded{r, mostBytes + 1}, 64<<10)
	f := &File{Part: Part{Name: name}}
	if isJSONArray(in) {
		return nil, fmt.Errorf("%s: line 1: a JSON array instead of JSON lines: write each event on its own line, "+
			"without the brackets and commas around them (jq -c '.[]' FILE does)", name)
	}
	if !isJSON(in) {
		recorded, err := history.DecodeEDN(in, room)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.History, f.Untimed = recorded.History, !recorded.Timed
		if recorded.Cut != nil {
			f.Cut = recorded.Cut.Error()
		}
		return f, nil
	}
	h, cut, err := history.DecodeCut(in, room)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutPackage(err))
	}
	if len(h.Events) == 0 {
		return nil, fmt.Errorf("%s: the file holds no event", name)
	}
	if f.History = h; cut != nil {
		f.Cut = withoutPackage(cut).Error()
	}
	return f, nil
}

// mostBytes is the maximum size of a history file in bytes.
const mostBytes = 4 << 30

// bounded is a reader that fails after a given number of bytes.
type bounded struct {
	of   io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the file is longer than %d bytes: judge a shorter period or fewer locks",
			int64(mostBytes))
	}
	n, err := b.of.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// shortestLine is roughly how many bytes the shortest event takes up. It limits how many events a file of very short
// lines is assumed to contain.
const shortestLine = 32

// lines estimates the number of events in a file, so that memory for them can be allocated at once. It returns 0 for
// input that can be read only once, and for devices, which may never end.
func lines(r io.Reader) int {
	file, ok := r.(io.ReadSeeker)
	if !ok {
		return 0
	}
	if f, ok := r.(fs.File); ok {
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return 0
		}
	}
	start, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	room, n, size := make([]byte, 64<<10), 1, 0
	for err == nil {
		var read int
		read, err = file.Read(room)
		n, size = n+bytes.Count(room[:read], []byte("\n")), size+read
	}
	if _, err := file.Seek(start, io.SeekStart); err != nil {
		return 0
	}
	return min(n, size/shortestLine)
}

func withoutPackage(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "history: ")) }

// isJSON reports whether the input begins like JSON lines, with a brace and a quote. EDN maps begin with a brace and a
// keyword.
func isJSON(in *bufio.Reader) bool { return begins(in, "{", `"`) }

// isJSONArray reports whether the input begins like a JSON array of objects.
func isJSONArray(in *bufio.Reader) bool { return begins(in, "[", "{", `"`) }

// begins reports whether the input begins with the given marks in this order, possibly with white space between them.
func begins(in *bufio.Reader, marks ...string) bool {
	rest, _ := in.Peek(4 << 10)
	for _, mark := range marks {
		var found bool
		if rest, found = bytes.CutPrefix(bytes.TrimSpace(rest), []byte(mark)); !found {
			return false
		}
	}
	return true
}
