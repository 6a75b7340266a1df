package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// mostEvents is the maximum number of events in one history, over all of its files. Checking that many events takes
// about 8 GB of memory.
const mostEvents = 1 << 24

// errTooMany reports that a history has more than mostEvents events.
var errTooMany = fmt.Errorf("more than %d events, the maximum for one history: "+
	"judge a shorter period or fewer locks", mostEvents)

// Decode reads what Encode writes. It also reads histories written by other tools, in which the header, server records
// and grants may be missing. An event without an index gets the previous event's index plus one, or 0 if it is the
// first. Blank lines are skipped. An error names the line and says what is wrong with it.
//
// An event's empty lists are decoded as nil.
func Decode(r io.Reader) (*History, error) {
	h, cut, err := DecodeCut(r, nil)
	if err == nil && cut != nil {
		err = cut
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// DecodeCut is like Decode, but accepts a file whose recorder was stopped in the middle of a line. If the last line is
// truncated, DecodeCut returns the events before it, and cut says what is wrong with the line. It returns an error
// instead if the truncated line is also the first.
//
// The events are appended to room, which is reused if it has enough capacity. The returned history contains only the
// new events.
func DecodeCut(r io.Reader, room []Event) (h *History, cut, err error) {
	return decodeCut(r, room, mostEvents-len(room))
}

// decodeCut is like DecodeCut, but accepts at most the given number of events.
func decodeCut(r io.Reader, room []Event, most int) (h *History, cut, err error) {
	h = &History{Events: room[len(room):]}
	ended := &ending{of: r}
	in := bufio.NewScanner(ended)
	in.Buffer(make([]byte, 0, 16<<10), maxLine)
	names := new(names)
	n, next := 0, 0
	for in.Scan() {
		n++
		text := bytes.TrimSpace(in.Bytes())
		if len(text) == 0 {
			continue
		}
		if wrong := h.readLine(text, n, &next, names); wrong != nil {
			cut = fmt.Errorf("history: line %d: %w", n, wrong)
			if !isCut(text) || in.Scan() || in.Err() != nil || ended.last == '\n' || n == 1 {
				return nil, nil, cut
			}
		}
		if len(h.Events) > most {
			return nil, nil, fmt.Errorf("history: line %d: %w", n, errTooMany)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, nil, fmt.Errorf("history: line %d: longer than %d bytes", n+1, maxLine)
	case err != nil:
		return nil, nil, fmt.Errorf("history: line %d: %w", n+1, err)
	}
	return h, cut, nil
}

// isCut reports whether text is a truncated JSON value.
func isCut(text []byte) bool {
	var whole json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&whole), io.ErrUnexpectedEOF)
}

// ending is a reader that remembers the last byte it returned.
type ending struct {
	of   io.Reader
	last byte
}

func (r *ending) Read(p []byte) (int, error) {
	n, err := r.of.Read(p)
	if n > 0 {
		r.last = p[n-1]
	}
	return n, err
}

func (h *History) readLine(text []byte, n int, next *int, names *names) (err error) {
	if isHeader(text) {
		if n != 1 {
			return errors.New("a header is allowed only on the first line")
		}
		return readHeader(text, &h.Header)
	}
	h.Events = append(h.Events, Event{Index: *next})
	e := &h.Events[len(h.Events)-1]
	defer func() {
		if err != nil {
			h.Events = h.Events[:len(h.Events)-1]
		}
	}()
	if err := readEvent(text, e, names); err != nil {
		return err
	}
	if e.Index < *next {
		return fmt.Errorf("index out of order: %d follows %d", e.Index, *next-1)
	}
	if e.Index > maxIndex {
		return fmt.Errorf("index %d is too large", e.Index)
	}
	if err := h.Header.Refuses(e); err != nil {
		return err
	}
	*next = e.Index + 1
	return nil
}

// isHeader reports whether a line's first key is "header".
func isHeader(text []byte) bool {
	rest, isObject := bytes.CutPrefix(text, []byte("{"))
	return isObject && bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte(`"header"`))
}

// maxIndex is the largest index that an event may have. It is small enough that later indexes cannot overflow.
const maxIndex = 1 << 62

func readHeader(text []byte, to *Header) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var line struct {
		Header *Header `json:"header"`
	}
	line.Header = to
	if err := dec.Decode(&line); err != nil {
		return headerError(err)
	}
	if line.Header == nil {
		return errors.New("header: null")
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("header: unexpected text follows on the same line: start a new line")
	}
	if err := wrongKeys(json.NewDecoder(bytes.NewReader(text)), 0); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if err := to.wrong(); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	return nil
}

// wrongKeys returns an error if a key occurs twice in one object of a JSON value, or if a header key has the wrong
// case. encoding/json accepts both. The error names the first such key. depth is the number of enclosing objects.
func wrongKeys(dec *json.Decoder, depth int) error {
	const ofHeader = 2 // depth at which the header's own keys are: the header is an object inside another object
	open, err := dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') && open != json.Delim('[') {
		return nil
	}
	if open == json.Delim('{') {
		depth++
	}
	seen := map[string]bool{}
	for dec.More() {
		if open == json.Delim('{') {
			token, err := dec.Token()
			if err != nil {
				return err
			}
			key, _ := token.(string)
			switch {
			case seen[key]:
				return fmt.Errorf("key %q occurs twice", key)
			case depth == ofHeader && !slices.Contains(headerKeys, key):
				return unknown("unknown key", key, headerKeys)
			}
			seen[key] = true
		}
		if err := wrongKeys(dec, depth); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// wrong returns an error if a number in the header is out of range, if a field is missing that another field requires,
// or if a word is unknown.
func (h *Header) wrong() error {
	for _, n := range []struct {
		key   string
		value int64
	}{{"clock_error", int64(h.ClockError)}, {"quorum", int64(h.Quorum)}, {"permits", int64(h.Permits)},
		{"ttl", int64(h.TTL)}, {"hold", int64(h.Hold)}, {"slack", int64(h.Slack)}, {"bound", int64(h.Bound)},
		{"order.slack", int64(h.Order.Slack)}, {"order.turn", int64(h.Order.Turn)}, {"messages", int64(h.Messages)},
		{"attempts", int64(h.Attempts)}, {"taken", int64(h.Taken)}} {
		if n.value < 0 {
			return fmt.Errorf("%q is %d: it cannot be negative", n.key, n.value)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(h.Asked)) {
		if at := h.Asked[p]; at < 0 {
			return fmt.Errorf("\"asked\" of %q is %d: it cannot be negative", p, at)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(h.Quiet)) {
		if q := h.Quiet[p]; q.From < 0 || q.To < q.From {
			return fmt.Errorf("\"quiet\" of %q runs from %d to %d: it cannot begin below 0, nor end before it begins",
				p, q.From, q.To)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(h.TTLs)) {
		if ttl := h.TTLs[p]; ttl < 0 || ttl > h.TTL {
			return fmt.Errorf("\"ttls\" has %d for %q: it must be between 0 and \"ttl\" (%d)", ttl, p, h.TTL)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(h.ClockErrors)) {
		if e := h.ClockErrors[p]; e < 0 || e > h.ClockError {
			return fmt.Errorf("\"clock_errors\" has %d for %q: it must be between 0 and \"clock_error\" (%d)", e, p,
				h.ClockError)
		}
	}
	if h.Order != (Order{}) && !h.Order.IsPromised() {
		return errors.New("\"order\" requires \"turn\": state how long the lock may stay free while a client waits")
	}
	if len(h.Seen) > 0 && h.ClockError == 0 {
		return errors.New("\"seen\" requires \"clock_error\": " +
			"otherwise, one clock records all events until the end")
	}
	return h.wrongWord()
}

var headerKeys = []string{"header", "scenario", "seed", "clients", "servers", "shards", "locks", "quorum",
	"permits", "ttl", "ttls", "hold", "uncapped", "slack", "order", "messages", "attempts", "taken", "bound", "service",
	"measures", "unknown_measures", "lapses", "asked", "quiet", "end", "start", "clock_error", "clock_errors", "seen",
	"reading", "reentrant", "initial"}

func headerError(err error) error {
	if key, found := strings.CutPrefix(err.Error(), `json: unknown field "`); found {
		return unknown("header: unknown key", strings.TrimSuffix(key, `"`), headerKeys)
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("header: %q cannot be a JSON %s", strings.TrimPrefix(wrong.Field, "header."), wrong.Value)
	}
	return fmt.Errorf("header: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func unknown(what, word string, choices []string) error {
	if near := nearest.Word(word, choices); near != "" && near != word { // a known key may be in the wrong place
		return fmt.Errorf("%s %q (did you mean %q?)", what, word, near)
	}
	return fmt.Errorf("%s %q", what, word)
}

var eventKeys = []string{"index", "time", "process", "type", "f", "op", "lock", "shared", "task", "attempt", "token",
	"value", "of", "member", "by", "sent", "checked", "why", "until", "since", "granted", "counted", "open", "told",
	"on", "to", "ends", "loses", "shift", "ppm"}

// keys is a set of event keys: bit i stands for eventKeys[i].
type keys uint32

func keysOf(names ...string) (k keys) {
	for _, name := range names {
		k |= 1 << slices.Index(eventKeys, name)
	}
	return k
}

var (
	requiredKeys = keysOf("time", "process", "type", "f")
	faultKeys    = keysOf("on", "to", "ends", "loses", "shift", "ppm")
	leaseKeys    = keysOf("since", "granted", "counted", "open", "told")
	untilKey     = keysOf("until")
	sentKey      = keysOf("sent")
)

// lacks returns the first of the names that is not in k, or "" if k has all of them.
func (k keys) lacks(names ...string) string {
	for _, name := range names {
		if k&keysOf(name) == 0 {
			return name
		}
	}
	return ""
}

// readEvent parses one JSON object into e. It gets recurring strings from names, so that equal strings share memory.
func readEvent(text []byte, e *Event, names *names) error {
	s := scanner{in: text, names: names}
	var parts parts
	var seen keys
	err := s.object(func(key string) error {
		i := slices.Index(eventKeys, key)
		if i < 0 {
			return unknown("unknown key", key, eventKeys)
		}
		if seen&(1<<i) != 0 {
			return fmt.Errorf("key %q occurs twice", key)
		}
		seen |= 1 << i
		if err := readField(&s, key, e, &parts); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if seen&requiredKeys != requiredKeys {
		return fmt.Errorf("no %q", seen.lacks("time", "process", "type", "f"))
	}
	if err := settleFault(e, &parts.fault, seen); err != nil {
		return err
	}
	return settle(e, &parts.grant, seen)
}

// parts contains the parts of an event that are parsed separately.
type parts struct {
	grant Grant
	fault Fault
}

// settleFault sets e.Fault if the event has a fault's fields. Only the nemesis may record such events.
func settleFault(e *Event, f *Fault, has keys) error {
	switch {
	case has&faultKeys == 0:
		return nil
	case len(f.On) > 0 && e.Process != Nemesis:
		return fmt.Errorf("%q on an event of %s: only events of the nemesis may have this field", "on", e.Process)
	case len(f.On) > 0:
		of := *f
		e.Fault = &of
		return nil
	}
	for _, key := range []string{"to", "ends", "loses", "shift", "ppm"} {
		if has&keysOf(key) != 0 {
			return fmt.Errorf("%q says how a fault strikes, but %q is missing: "+
				"it says which processes the fault strikes", key, "on")
		}
	}
	return nil
}

// settle checks that an event's fields are consistent, and stores "until" in the right field. "until" can be a key's
// deadline, the end of a lease, or the last time at which a crashed process is known to have been alive.
func settle(e *Event, g *Grant, has keys) error {
	if e.F == Crash && e.Process != Nemesis {
		e.F = Crashed
	}
	if !mayRecord(e.Process, e.F) {
		return unknownWord("f", e.F, functions)
	}
	switch {
	case e.Index < 0:
		return fmt.Errorf("\"index\" is %d: it must be 0 or larger", e.Index)
	case e.Process == "":
		return errors.New("\"process\" is empty: name the process that recorded the event")
	case e.wrongMember() != nil:
		return e.wrongMember()
	case e.wrongWord() != nil:
		return e.wrongWord()
	case e.Checked != CheckNotRecorded && e.wrongCheck() != nil:
		return e.wrongCheck()
	}
	if has&sentKey != 0 {
		if err := e.wrongSent(); err != nil {
			return err
		}
	}
	lease := has&leaseKeys != 0
	if isKeyDeadline(e.F) {
		if lease {
			e.Grant = g
			return e.wrongGrant()
		}
		if e.Until = Never; has&untilKey != 0 {
			e.Until = g.Until
		}
		return nil
	}
	if !lease && has&untilKey == 0 {
		return nil
	}
	if e.F == Crashed && !lease {
		e.Until = g.Until
		return e.wrongCrash()
	}
	if key := has.lacks("since", "granted", "until"); key != "" {
		return fmt.Errorf("a grant needs since, granted and until: %q is missing", key)
	}
	of := *g
	e.Grant = &of
	return e.wrongGrant()
}

// mayRecord reports whether process p may record f. The nemesis may give its faults any name.
func mayRecord(p Process, f F) bool { return p == Nemesis || slices.Contains(functions, f) }

func readField(s *scanner, key string, e *Event, p *parts) (err error) {
	g := &p.grant
	switch key {
	case "index":
		e.Index, err = number[int](s)
	case "time":
		e.Time, err = number[Time](s)
	case "process":
		e.Process, err = text[Process](s)
	case "type":
		e.Type, err = s.eventType()
	case "f":
		e.F, err = text[F](s)
	case "op":
		e.Op, err = text[F](s)
	case "lock":
		e.Lock, err = text[Lock](s)
	case "shared":
		e.Shared, err = s.boolean()
	case "task":
		if e.Task, err = number[Task](s); err == nil && e.Task < 1 {
			err = fmt.Errorf("expected a number of 1 or more, found %d", e.Task)
		}
	case "attempt":
		e.Attempt, err = text[Attempt](s)
	case "token":
		e.Token, err = number[Token](s)
	case "value":
		e.Value, err = text[string](s)
	case "of":
		e.Of, err = text[Attempt](s)
	case "member":
		e.Member, err = text[string](s)
	case "by":
		e.By, err = text[Attempt](s)
	case "sent":
		e.Sent, err = number[Time](s)
	case "checked":
		e.Checked, err = s.check()
	case "why":
		e.Why, err = text[Why](s)
	case "until":
		g.Until, err = number[Time](s)
	case "since":
		g.Since, err = number[Time](s)
	case "granted":
		g.Granted, err = number[Time](s)
	case "counted":
		g.Counted, err = s.processes()
	case "open":
		g.Open, err = s.boolean()
	case "told":
		g.Told, err = s.boolean()
	default:
		err = readFaultField(s, key, &p.fault)
	}
	return err
}

// readFaultField parses a field that only faults have.
func readFaultField(s *scanner, key string, f *Fault) (err error) {
	switch key {
	case "on":
		f.On, err = s.processes()
	case "to":
		f.To, err = s.processes()
	case "ends":
		f.Ends, err = s.boolean()
	case "loses":
		f.Loses, err = s.loss()
	case "shift":
		f.Shift, err = number[Time](s)
	case "ppm":
		f.PPM, err = number[int](s)
	}
	return err
}

// wrongCheck returns an error if the event has a Checked field but is not allowed to have one, or if the field is
// invalid.
func (e *Event) wrongCheck() error {
	switch {
	case !e.F.IsKey() || e.F.IsCopy():
		return fmt.Errorf("%s has \"checked\", which only a server's record of a key may have: remove it", e.F)
	case e.Checked.IsScore() && (e.F != KeyGone || e.Why != Expired):
		return fmt.Errorf("\"checked\":%q is for members of a sorted set that have expired: "+
			"a key-gone with \"why\":\"expired\"", e.Checked)
	case e.By == "" && !e.Checked.IsScore():
		return errors.New("\"checked\" requires \"by\": state whose request it was")
	case e.Checked.String() == "":
		return fmt.Errorf("checked is %d, but must be one of: "+
			"nothing, presence, value, lapse, watched, score, early-score",
			e.Checked)
	}
	return nil
}
