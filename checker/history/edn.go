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

// stepEDN is the time from one operation to the next where the history states none, so that they can be drawn.
const stepEDN = Time(1e6)

// EDN is a history as Jepsen wrote it, in EDN.
type EDN struct {
	History *History
	Timed   bool  // its operations state when they happened; else they are drawn one millisecond apart
	Cut     error // why its end is missing, if it is; the operations before it were read
}

// DecodeEDN reads a history that Jepsen wrote: history.edn of a test's folder in store/, or an older one that was
// published with Knossos. Each operation is a map, such as
//
//	{:type :invoke, :f :acquire, :value nil, :process 0, :time 123, :index 0}
//
// and they follow one another, alone or in one vector or list. A lock without a name is called "lock"; one of many, as
// jepsen.independent has them in :value [KEY …], or in :key, by its key. A client's number becomes the process
// "process-NUMBER". Times, indexes, processes and fencing tokens are whole numbers of 64 bits, in any form that EDN
// has: 1, 1N, 1M, 1.0, 1e3. Clojure's other numbers (1/2, 0x1F, ##NaN) are refused, as is a key that stands twice in
// a map.
//
// The operations are put into the room behind those given, which are none of them, as far as it goes.
func DecodeEDN(r io.Reader, room []Event) (*EDN, error) {
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
		file.History.Events = append(file.History.Events, e)
	}
}

// check refuses a history that is empty, or in which only some operations state their time.
func (s *EDN) check(timed, line int) error {
	switch n := len(s.History.Events); {
	case n == 0:
		return fmt.Errorf("line %d: the file holds no operation", line)
	case timed > 0 && timed < n:
		return fmt.Errorf("%d of %d operations state no :time", n-timed, n)
	}
	return nil
}

// operation is one map of the history. Keys that it does not name are ignored.
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

// parser reads one form after the other; it keeps the buffer that the library reads from.
type parser struct {
	text  bytes.Reader
	in    *bufio.Reader
	names map[string]string // of processes, locks and functions, to share their memory
}

// mostNames bounds what is shared: names recur, but values need not.
const mostNames = 1 << 16

// share returns the name as it was first read, so that its memory is shared.
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

// event reads one operation, whose index is at least next.
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
		if e.Index < next || e.Index > maxIndex {
			return e, false, fmt.Errorf(":index %d is out of order: it follows %d", e.Index, next-1)
		}
	}
	if op.Time != nil {
		if e.Time, err = wholeNumber[Time](":time", op.Time); err != nil {
			return e, false, err
		}
	}
	if err := op.about(&e); err != nil {
		return e, false, err
	}
	e.Process, e.Lock, e.F = share(p, e.Process), share(p, e.Lock), share(p, e.F)
	return e, op.Time != nil, nil
}

// unmarshal reads one form; what the library makes of hostile input is an error in any case.
func (p *parser) unmarshal(text []byte, to any) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("no EDN")
		}
	}()
	p.text.Reset(text)
	if p.in == nil {
		p.in = bufio.NewReader(&p.text)
	}
	p.in.Reset(&p.text)
	if err := edn.NewDecoder(p.in).Decode(to); err != nil { // a reader with a buffer is read as it is
		if why := badNumber(text); why != "" {
			return errors.New(why)
		}
		return fmt.Errorf("no EDN: %s", strings.TrimPrefix(err.Error(), "edn: "))
	}
	return nil
}

// lacks is the first required key that an operation lacks; empty if it has all of them.
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

// incomplete reports which key an operation lacks, and which of its keys may be a misspelling of it.
func (p *parser) incomplete(text []byte, lacks string) error {
	var all map[edn.Keyword]any
	if err := p.unmarshal(text, &all); err == nil {
		delete(all, edn.Keyword(lacks))
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if nearest.Word(string(key), []string{lacks}) != "" {
				return fmt.Errorf("an operation without :%s (did you mean it by %v?)", lacks, key)
			}
		}
	}
	return fmt.Errorf("an operation without :%s: it needs :type, :f and :process", lacks)
}

// processOf names the process of an operation.
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

// operations are what clients may do.
var operations = []string{"acquire", "release", "extend", "lost", "read", "write", "cas", "txn"}

// kind sets type and function.
func (op *operation) kind(e *Event) error {
	kind, err := word(":type", op.Type)
	if err != nil {
		return err
	}
	var known bool
	if e.Type, known = parseType(kind); !known {
		return unknownKeyword(":type", kind, "none of :invoke, :ok, :fail and :info", typeNames[1:])
	}
	f, err := word(":f", op.F)
	if err != nil {
		return err
	}
	if e.F = F(f); e.Process != Nemesis && !slices.Contains(operations, f) {
		return unknownKeyword(":f", f, "no operation of a lock or a register (:"+strings.Join(operations, ", :")+")",
			operations)
	}
	return nil
}

func unknownKeyword(key, word, what string, choices []string) error {
	if near := nearest.Word(word, choices); near != "" {
		return fmt.Errorf("%s :%s is %s; did you mean :%s?", key, word, what, near)
	}
	return fmt.Errorf("%s :%s is %s", key, word, what)
}

// about sets what the operation was done to, and its result.
func (op *operation) about(e *Event) (err error) {
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

// word is a keyword, or the string or symbol that older tools write for one.
func word(key string, v any) (string, error) {
	switch v := v.(type) {
	case edn.Keyword:
		return string(v), nil
	case string:
		return v, nil
	case edn.Symbol:
		return string(v), nil
	}
	return "", fmt.Errorf("%s %s is no keyword", key, show(v))
}

// longestShown is how many characters of foreign text are shown.
const longestShown = 100

// short shows a value in few words; nothing for nil.
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

// show writes a value as EDN, but text and keywords without quotes or colon.
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
