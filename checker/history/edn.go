package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"olympos.io/encoding/edn"

	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// stepEDN is the time between successive operations in a history without times. It is needed to draw the history.
const stepEDN = Time(1e6)

// EDN is a history written by Jepsen in EDN format.
type EDN struct {
	History *History
	Timed   bool  // whether the operations state when they happened; if not, they are drawn one millisecond apart
	Cut     error // why the end of the file is missing; nil if the file is complete
}

// DecodeEDN reads a history that Jepsen wrote: history.edn in a test's folder in store/, or an older history published
// with Knossos. Each operation is a map, such as
//
//	{:type :invoke, :f :acquire, :value nil, :process 0, :time 123, :index 0}
//
// The maps follow one another, either bare or inside a single vector or list. A single lock without a name is called
// "lock". If there are several locks, each is named after its key, which is in :key or, as jepsen.independent writes
// it, in :value [KEY …]. A client with a number becomes the process "process-NUMBER". Times, indexes, processes and
// fencing tokens are 64-bit integers, in any form that EDN allows: 1, 1N, 1M, 1.0, 1e3. DecodeEDN rejects Clojure's
// other numbers (1/2, 0x1F, ##NaN) and maps with a repeated key.
//
// The events are appended to room, which is reused if it has enough capacity. The returned history contains only the
// new events.
func DecodeEDN(r io.Reader, room []Event) (*EDN, error) {
	return decodeEDN(r, room, mostEvents-len(room))
}

// decodeEDN is like DecodeEDN, but limits the number of operations.
func decodeEDN(r io.Reader, room []Event, most int) (*EDN, error) {
	file := &EDN{History: &History{Events: room[len(room):]}}
	in := newForms(r)
	var p parser
	timed, next := 0, 0
	for {
		text, line, err := in.next()
		switch {
		case err == io.EOF:
			file.Timed = timed > 0
			return file, file.check(timed, line)
		case errors.Is(err, errCut):
			file.Cut, file.Timed = fmt.Errorf("line %d: %w", line, err), timed > 0
			return file, file.check(timed, line)
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		e, hasTime, err := p.event(text, next)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if next = e.Index + 1; hasTime {
			timed++
		}
		if len(file.History.Events) == most {
			return nil, fmt.Errorf("line %d: %w", line, errTooMany)
		}
		file.History.Events = append(file.History.Events, e)
	}
}

// check returns an error if the history is empty, or if some of its operations have times and others do not.
func (s *EDN) check(timed, line int) error {
	switch n := len(s.History.Events); {
	case n == 0:
		return fmt.Errorf("line %d: the file contains no operation", line)
	case timed > 0 && timed < n:
		return fmt.Errorf("%d of %d operations state no :time", n-timed, n)
	}
	return nil
}

// operation is one map in the history. Keys without a field here are ignored.
type operation struct {
	Index   any `edn:"index"`
	Time    any `edn:"time"`
	Process any `edn:"process"`
	Type    any `edn:"type"`
	F       any `edn:"f"`
	Key     any `edn:"key"`
	Value   any `edn:"value"`
	Error   any `edn:"error"`
}

// parser parses one EDN form after another. It reuses the buffer that the EDN library reads from.
type parser struct {
	text  bytes.Reader
	in    *bufio.Reader
	names map[string]string // names of processes, locks and functions that have occurred; equal names share memory
}

// mostNames limits how many strings are shared. Names usually recur, but a file may contain any number of different
// values.
const mostNames = 1 << 16

// share returns the same string for equal names, so that each name is stored only once.
func share[T ~string](p *parser, name T) T {
	if seen, ok := p.names[string(name)]; ok {
		return T(seen)
	}
	if len(p.names) < mostNames {
		if p.names == nil {
			p.names = map[string]string{}
		}
		p.names[string(name)] = string(name)
	}
	return name
}

// event parses one operation. Its index must be at least next.
func (p *parser) event(text []byte, next int) (e Event, timed bool, err error) {
	var op operation
	if !op.flat(text) {
		op = operation{}
		if err := p.unmarshal(text, &op); err != nil {
			return e, false, err
		}
		if err := p.repeated(text); err != nil {
			return e, false, err
		}
	}
	if lacks := op.lacks(); lacks != "" {
		return e, false, p.incomplete(text, lacks)
	}
	e = Event{Index: next, Time: stepEDN * Time(next)}
	if e.Process, err = processOf(op.Process); err != nil {
		return e, false, err
	}
	if err := op.kind(&e); err != nil {
		return e, false, err
	}
	if op.Index != nil {
		if e.Index, err = wholeNumber[int](":index", op.Index); err != nil {
			return e, false, err
		}
		switch {
		case e.Index < 0:
			return e, false, fmt.Errorf(":index is %d: it must be 0 or larger", e.Index)
		case e.Index < next:
			return e, false, fmt.Errorf(":index %d is out of order: it follows %d", e.Index, next-1)
		case e.Index > maxIndex:
			return e, false, fmt.Errorf(":index %d is too large", e.Index)
		}
	}
	if op.Time != nil {
		if e.Time, err = wholeNumber[Time](":time", op.Time); err != nil {
			return e, false, err
		}
	}
	if err := op.setTarget(&e); err != nil {
		return e, false, err
	}
	e.Process, e.Lock, e.F = share(p, e.Process), share(p, e.Lock), share(p, e.F)
	return e, op.Time != nil, nil
}

// unmarshal parses one form. It returns an error if the library panics, as it may on malicious input.
func (p *parser) unmarshal(text []byte, to any) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not EDN")
		}
	}()
	p.text.Reset(text)
	if p.in == nil {
		p.in = bufio.NewReader(&p.text)
	}
	p.in.Reset(&p.text)
	// if it is given a bufio.Reader, the library does not add a buffer of its own
	if err := edn.NewDecoder(p.in).Decode(to); err != nil {
		if why := badNumber(text); why != "" {
			return errors.New(why)
		}
		return fmt.Errorf("not EDN: %s", strings.TrimPrefix(err.Error(), "edn: "))
	}
	return nil
}

// lacks returns the first required key that an operation lacks, or "" if it has all of them.
func (op *operation) lacks() string {
	switch {
	case op.Type == nil:
		return "type"
	case op.F == nil:
		return "f"
	case op.Process == nil:
		return "process"
	}
	return ""
}

// incomplete returns an error for an operation without a required key. If another of the operation's keys may be a
// misspelling of the missing one, the error names that key.
func (p *parser) incomplete(text []byte, lacks string) error {
	var all map[edn.Keyword]any
	if err := p.unmarshal(text, &all); err == nil {
		delete(all, edn.Keyword(lacks))
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if nearest.Word(string(key), []string{lacks}) != "" {
				return fmt.Errorf("an operation without :%s (is %v a misspelling of it?)", lacks, key)
			}
		}
	}
	return fmt.Errorf("an operation without :%s: it needs :type, :f and :process", lacks)
}

// processOf returns the process name for a :process value, which is a number or a name.
func processOf(v any) (Process, error) {
	if isNumber(v) {
		n, err := wholeNumber[int64](":process", v)
		return Process(fmt.Sprintf("process-%d", n)), err
	}
	switch v := v.(type) {
	case edn.Keyword:
		return Process(v), nil
	case string:
		if v != "" {
			return Process(v), nil
		}
	}
	return "", fmt.Errorf(":process %s is neither a number nor a name", show(v))
}

// operations lists the operations that a client can perform.
var operations = []string{"acquire", "release", "extend", "lost", "read", "write", "cas", "txn"}

// kind sets e's type and function.
func (op *operation) kind(e *Event) error {
	kind, err := word(":type", op.Type)
	if err != nil {
		return err
	}
	var known bool
	if e.Type, known = parseType(kind); !known {
		return unknownKeyword(":type", kind, "unknown (write :invoke, :ok, :fail or :info)", typeNames[1:])
	}
	f, err := word(":f", op.F)
	if err != nil {
		return err
	}
	if e.F = F(f); e.Process != Nemesis && !slices.Contains(operations, f) {
		return unknownKeyword(":f", f, fmt.Sprintf("neither a lock operation nor a register operation (:%s)",
			strings.Join(operations, ", :")), operations)
	}
	return nil
}

func unknownKeyword(key, word, what string, choices []string) error {
	if near := nearest.Word(word, choices); near != "" {
		return fmt.Errorf("%s :%s is %s; did you mean :%s?", key, word, what, near)
	}
	return fmt.Errorf("%s :%s is %s", key, word, what)
}

// setTarget sets the lock or register that the event is about, the event's value and fencing token, and the reason for
// a failure. For a nemesis event, it sets only the value.
func (op *operation) setTarget(e *Event) (err error) {
	if e.Process == Nemesis {
		if op.Value != nil {
			e.Value = string(e.F) + " " + short(op.Value)
		}
		return nil
	}
	if e.Lock, e.Why = "lock", Why(short(op.Error)); op.Key != nil {
		e.Lock = Lock(show(op.Key))
	}
	value := op.Value
	if tagged, ok := value.(edn.Tag); ok && tagged.Tagname == "jepsen.independent/tuple" {
		value = tagged.Value
	}
	onData := e.F == Read || e.F == Write || e.F == CAS || e.F == Txn
	if onData && value != nil {
		e.Value = plain(value)
	}
	switch v := value.(type) {
	case []any:
		if len(v) == 2 && !onData {
			e.Lock = Lock(show(v[0]))
		}
	case map[any]any:
		for _, key := range []edn.Keyword{"fence", "token"} {
			if token := v[key]; isNumber(token) && e.F == Acquire && e.Type == OK {
				if e.Token, err = wholeNumber[Token](":"+string(key), token); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// word returns a keyword's name. It also accepts a string or a symbol, which older tools write.
func word(key string, v any) (string, error) {
	switch v := v.(type) {
	case edn.Keyword:
		return string(v), nil
	case string:
		return v, nil
	case edn.Symbol:
		return string(v), nil
	}
	return "", fmt.Errorf("%s %s is not a keyword", key, show(v))
}

// longestShown is the maximum length of an excerpt from a file, in characters.
const longestShown = 100

// short formats a value, truncated to longestShown characters. It returns "" for nil.
func short(v any) string {
	if v == nil {
		return ""
	}
	text := []rune(show(v))
	if len(text) > longestShown {
		text = append(text[:longestShown-1], '…')
	}
	return string(text)
}

// show formats a value as EDN, but without quotes around strings or colons before keywords.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return strings.ToValidUTF8(v, "?")
	case edn.Keyword:
		return string(v)
	}
	if text, ok := numberText(v); ok {
		return text
	}
	text, err := edn.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	return strings.ToValidUTF8(string(text), "?")
}
