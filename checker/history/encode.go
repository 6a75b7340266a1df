package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// maxLine is the maximum length of a line in a history file, in bytes, including the newline.
const maxLine = 1 << 20

// Encode writes h as JSON lines: the header as {"header":{…}}, then one event per line. Empty fields are left out, and
// so is the deadline of a key that never expires. Equal histories are encoded as identical bytes, and Decode returns an
// equal history.
//
// Encode returns an error if the header or an event could not be read back. Examples are a negative TTL, an unknown
// type or function, a time or grant on the wrong kind of event, a grant that contradicts itself, and an event's text
// that is not UTF-8. An index must be greater than the one before, and a line must not be longer than 1 MiB.
func Encode(w io.Writer, h *History) error {
	out := bufio.NewWriter(w)
	line, err := AppendHeader(nil, &h.Header)
	if err != nil {
		return err
	}
	last := -1
	for i := range h.Events {
		if _, err := out.Write(line); err != nil {
			return err
		}
		e := &h.Events[i]
		if e.Index <= last {
			return fmt.Errorf("history: event %d: index out of order: it follows %d", e.Index, last)
		}
		last = e.Index
		if err := h.Header.Refuses(e); err != nil {
			return fmt.Errorf("history: event %d: %w", e.Index, err)
		}
		if line, err = AppendEvent(line[:0], e); err != nil {
			return fmt.Errorf("history: event %d: %w", e.Index, err)
		}
	}
	if _, err := out.Write(line); err != nil {
		return err
	}
	return out.Flush()
}

// AppendHeader appends the header's line to b, as Encode writes it.
func AppendHeader(b []byte, h *Header) ([]byte, error) {
	if err := h.wrong(); err != nil {
		return b, fmt.Errorf("history: header: %w", err)
	}
	header, err := json.Marshal(struct {
		Header *Header `json:"header"`
	}{h})
	switch {
	case err != nil:
		return b, fmt.Errorf("history: header: %w", err)
	case len(header) >= maxLine:
		return b, fmt.Errorf("history: header: longer than %d bytes", maxLine)
	}
	return append(append(b, header...), '\n'), nil
}

// AppendEvent appends an event's line to b, as Encode writes it. b must be empty. The keys are in a fixed order.
func AppendEvent(b []byte, e *Event) ([]byte, error) {
	if err := encodable(e); err != nil {
		return b, err
	}
	w := line{b: b}
	w.int("index", int64(e.Index))
	w.int("time", int64(e.Time))
	w.str("process", string(e.Process))
	w.str("type", e.Type.String())
	w.str("f", string(e.F))
	w.strIf("op", string(e.Op))
	w.strIf("lock", string(e.Lock))
	if e.Shared {
		w.yes("shared")
	}
	if e.Task != 0 {
		w.int("task", int64(e.Task))
	}
	w.strIf("attempt", string(e.Attempt))
	if e.Token != 0 {
		w.int("token", int64(e.Token))
	}
	w.strIf("value", e.Value)
	w.strIf("of", string(e.Of))
	w.strIf("member", e.Member)
	w.strIf("by", string(e.By))
	if e.Sent != 0 {
		w.int("sent", int64(e.Sent))
	}
	w.strIf("checked", e.Checked.String())
	w.strIf("why", string(e.Why))
	if isKeyDeadline(e.F) && e.Until != Never || e.F == Crashed && e.Until != 0 {
		w.int("until", int64(e.Until))
	}
	if g := e.Grant; g != nil {
		w.int("since", int64(g.Since))
		w.int("granted", int64(g.Granted))
		w.int("until", int64(g.Until))
		w.list("counted", g.Counted)
		if g.Open {
			w.yes("open")
		}
		if g.Told {
			w.yes("told")
		}
	}
	w.fault(e.Fault)
	w.b = append(w.b, '}', '\n')
	if w.notText != "" {
		return w.b, fmt.Errorf("%s is not UTF-8", w.notText)
	}
	if len(w.b) > maxLine {
		return w.b, fmt.Errorf("the line has %d bytes: at most %d are allowed", len(w.b), maxLine)
	}
	return w.b, nil
}

// encodable returns an error if Decode would not be able to read the event back.
func encodable(e *Event) error {
	switch {
	case e.Type < Invoke || e.Type > Info:
		return fmt.Errorf("type is %d, but must be one of: invoke, ok, fail, info", e.Type)
	case !mayRecord(e.Process, e.F):
		return fmt.Errorf("unknown f %q", e.F)
	case e.Index < 0:
		return fmt.Errorf("\"index\" is %d: it must be 0 or larger", e.Index)
	case e.Index > maxIndex:
		return fmt.Errorf("index %d is too large", e.Index)
	case e.Task < 0:
		return fmt.Errorf("\"task\" is %d: it must be 1 or larger, or 0 if it is unknown", e.Task)
	case e.Process == "":
		return fmt.Errorf("the name of the process is empty")
	case e.F == Crashed && e.Until != 0:
		return e.wrongCrash()
	case e.Sent != 0 && e.wrongSent() != nil:
		return e.wrongSent()
	case !isKeyDeadline(e.F) && e.Until != 0:
		return fmt.Errorf("%s has the deadline of a key, which only key-set and key-prolonged may have", e.F)
	case e.wrongMember() != nil:
		return e.wrongMember()
	case e.wrongWord() != nil:
		return e.wrongWord()
	case e.Checked != CheckNotRecorded && e.wrongCheck() != nil:
		return e.wrongCheck()
	case e.Grant != nil && e.wrongGrant() != nil:
		return e.wrongGrant()
	case e.Fault != nil && (e.Process != Nemesis || len(e.Fault.On) == 0):
		return fmt.Errorf("%s of %s has a fault: only an event of the nemesis may have one, "+
			"and it must name a process that the fault strikes", e.F, e.Process)
	case e.Fault != nil && e.Fault.Loses != "":
		return e.Fault.Loses.wrong()
	}
	return nil
}

// line builds a JSON object. notText is the first JSON key with a value that is not valid UTF-8.
type line struct {
	b       []byte
	notText string
}

func (w *line) key(k string) {
	if len(w.b) == 0 {
		w.b = append(w.b, '{', '"')
	} else {
		w.b = append(w.b, ',', '"')
	}
	w.b = append(w.b, k...)
	w.b = append(w.b, '"', ':')
}

func (w *line) int(k string, v int64) {
	w.key(k)
	w.b = strconv.AppendInt(w.b, v, 10)
}

func (w *line) str(k, v string) {
	w.key(k)
	w.quote(k, v)
}

func (w *line) strIf(k, v string) {
	if v != "" {
		w.str(k, v)
	}
}

func (w *line) yes(k string) {
	w.key(k)
	w.b = append(w.b, "true"...)
}

func (w *line) fault(f *Fault) {
	if f == nil {
		return
	}
	w.list("on", f.On)
	w.list("to", f.To)
	if f.Ends {
		w.yes("ends")
	}
	w.strIf("loses", string(f.Loses))
	if f.Shift != 0 {
		w.int("shift", int64(f.Shift))
	}
	if f.PPM != 0 {
		w.int("ppm", int64(f.PPM))
	}
}

func (w *line) list(k string, vs []Process) {
	if len(vs) == 0 {
		return
	}
	w.key(k)
	sep := byte('[')
	for _, v := range vs {
		w.b = append(w.b, sep)
		w.quote(k, string(v))
		sep = ','
	}
	w.b = append(w.b, ']')
}

// quote appends s as a JSON string. It escapes quotes, backslashes and control characters and copies everything else.
func (w *line) quote(k, s string) {
	const hex = "0123456789abcdef"
	if w.notText == "" && !utf8.ValidString(s) {
		w.notText = k
	}
	w.b = append(w.b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		w.b = append(w.b, s[from:i]...)
		from = i + 1
		if c < ' ' {
			w.b = append(w.b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			w.b = append(w.b, '\\', c)
		}
	}
	w.b = append(w.b, s[from:]...)
	w.b = append(w.b, '"')
}
