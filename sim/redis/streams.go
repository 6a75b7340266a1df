package redis

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// This file implements streams, but only what locks need whose scripts write events to a stream and trim it. miniredis
// stores the entries. A stream is never empty here, because trimming to nothing is refused, so the ID of its last entry
// is also its last ID.

// Redis stores a stream in nodes of inNode entries. If a stream is trimmed to an approximate length, only whole nodes
// are removed, and at most mostNodes of them.
const (
	inNode    = 100
	mostNodes = 100
)

const (
	errEntryID    = "ERR Invalid stream ID specified as stream command argument"
	errZeroID     = "ERR The ID specified in XADD must be greater than 0-0"
	errStreamTrim = "ERR fencepost: MINID, LIMIT and a MAXLEN of 0 are not simulated: locks do not use them"
)

// entryID is the ID of a stream's entry: a time in ms, and a number among the entries with the same time.
type entryID struct{ ms, seq uint64 }

var lastEntryID = entryID{math.MaxUint64, math.MaxUint64}

func (id entryID) String() string {
	return strconv.FormatUint(id.ms, 10) + "-" + strconv.FormatUint(id.seq, 10)
}

func (id entryID) compare(other entryID) int {
	return cmp.Or(cmp.Compare(id.ms, other.ms), cmp.Compare(id.seq, other.seq))
}

// next returns the ID that follows id, which must not be the last one.
func (id entryID) next() entryID {
	if id.seq == math.MaxUint64 {
		return entryID{id.ms + 1, 0}
	}
	return entryID{id.ms, id.seq + 1}
}

// parseEntryID parses MS-SEQ or MS. In the second form, the sequence number is missing.
func parseEntryID(s string, missing uint64) (id entryID, ok bool) {
	ms, seq, both := strings.Cut(s, "-")
	if id.ms, ok = parseUnsigned(ms); !ok || len(s) > 127 {
		return id, false
	}
	if id.seq = missing; both {
		id.seq, ok = parseUnsigned(seq)
	}
	return id, ok
}

// parseUnsigned parses an unsigned integer as strtoull does, except that it refuses a minus sign.
func parseUnsigned(s string) (uint64, bool) {
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimLeft(s, " \t\n\v\f\r"), "+"), 10, 64)
	return v, err == nil
}

// parseStreamBound parses one end of a range of IDs. An ID after a parenthesis is not part of the range.
func parseStreamBound(s string, isEnd bool) (id entryID, trouble string) {
	missing := uint64(0)
	if isEnd {
		missing = math.MaxUint64
	}
	text, exclusive := strings.CutPrefix(s, "(")
	exclusive = exclusive && text != ""
	switch {
	case s == "-":
		return entryID{}, ""
	case s == "+":
		return lastEntryID, ""
	case !exclusive:
		text = s
	}
	id, ok := parseEntryID(text, missing)
	switch {
	case !ok:
		return id, errEntryID
	case exclusive && isEnd && id == entryID{}:
		return id, "ERR invalid end ID for the interval"
	case exclusive && isEnd && id.seq == 0:
		return entryID{id.ms - 1, math.MaxUint64}, ""
	case exclusive && isEnd:
		return entryID{id.ms, id.seq - 1}, ""
	case exclusive && id == lastEntryID:
		return id, "ERR invalid start ID for the interval"
	case exclusive:
		return id.next(), ""
	}
	return id, ""
}

// streamOptions are the options of XADD and XTRIM.
type streamOptions struct {
	noCreate bool // NOMKSTREAM
	trim     bool
	length   int64 // the greatest length after trimming
	nearly   bool  // only whole nodes are removed
}

// parse reads the options and returns the other arguments. It returns an error message, or "" if there is none.
func (o *streamOptions) parse(args []string, add bool) (rest []string, trouble string) {
	for i := 0; i < len(args); i++ {
		more := len(args) - 1 - i
		switch word := strings.ToUpper(args[i]); {
		case word == "MAXLEN" && more > 0 && o.trim:
			return nil, "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
		case word == "MAXLEN" && more > 0:
			if sign := args[i+1]; more > 1 && (sign == "~" || sign == "=") {
				o.nearly = sign == "~"
				i++
			}
			i++
			var ok bool
			if o.length, ok = resp.ParseInt(args[i]); !ok {
				return nil, resp.ErrNotInt
			}
			switch {
			case o.length < 0:
				return nil, "ERR The MAXLEN argument must be >= 0."
			case o.length == 0:
				return nil, errStreamTrim
			}
			o.trim = true
		case (word == "MINID" || word == "LIMIT") && more > 0:
			return nil, errStreamTrim
		case word == "NOMKSTREAM" && add:
			o.noCreate = true
		case add:
			return args[i:], ""
		default:
			return nil, resp.ErrSyntax
		}
	}
	if !o.trim && !add {
		return nil, "ERR syntax error, XTRIM must be called with a trimming strategy"
	}
	return nil, ""
}

// carryOut trims a stream. It returns the number of entries that it has removed.
func (o *streamOptions) carryOut(d *store.Data, name string) (removed int64) {
	if !o.trim {
		return 0
	}
	length := int64(len(streamOf(d, name)))
	removed = max(length-o.length, 0)
	if o.nearly {
		removed = min(removed/inNode, mostNodes) * inNode
	}
	if removed > 0 {
		trimmed := []string{"xtrim", name, "MAXLEN", strconv.FormatInt(length-removed, 10)}
		d.Ask(trimmed...)
		d.Settle(name, store.Change{})
		d.LogCommand(trimmed)
		d.Notify(store.Stream, "xtrim", name)
	}
	return removed
}

// streamOf returns a stream's entries, or nil if the key does not exist.
func streamOf(d *store.Data, name string) []miniredis.StreamEntry {
	entries, _ := d.DB.Stream(name) // no error, since the key has this type or does not exist
	return entries
}

// wantedID is the ID that a client gives in XADD. The server chooses the parts that are missing.
type wantedID struct {
	entryID
	anyID, anySeq bool
}

// parseWantedID parses *, MS-*, MS-SEQ or MS. It returns an error message, or "" if there is none.
func parseWantedID(s string) (w wantedID, trouble string) {
	if s == "*" {
		return wantedID{anyID: true}, ""
	}
	if ms, is := strings.CutSuffix(s, "-*"); is && !strings.Contains(ms, "-") {
		s, w.anySeq = ms, true
	}
	ok := false
	switch w.entryID, ok = parseEntryID(s, 0); {
	case !ok:
		return w, errEntryID
	case w.entryID == entryID{} && !w.anySeq:
		return w, errZeroID
	}
	return w, ""
}

// after returns the ID of a new entry after the stream's last one. now is in ms on the wall clock.
func (w wantedID) after(last entryID, now int64) (id entryID, trouble string) {
	switch id = w.entryID; {
	case last == lastEntryID:
		return id, "ERR The stream has exhausted the last possible ID, unable to add more items"
	case w.anyID && uint64(now) > last.ms:
		return entryID{uint64(now), 0}, ""
	case w.anyID, w.anySeq && id.ms == last.ms && last.seq < math.MaxUint64:
		return last.next(), ""
	case id.compare(last) <= 0:
		return id, "ERR The ID specified in XADD is equal or smaller than the target stream top item"
	}
	return id, ""
}

// xadd implements XADD. The effect that it logs has the new entry's ID.
func xadd(d *store.Data, args []string) {
	var o streamOptions
	rest, trouble := o.parse(args[2:], true)
	var wanted wantedID
	if len(rest) > 0 {
		wanted, trouble = parseWantedID(rest[0])
	}
	if (trouble == "" || trouble == errZeroID) && (len(rest) < 3 || len(rest)%2 == 0) {
		trouble = wrongArity("xadd")
	}
	name := args[1]
	switch {
	case trouble != "":
		d.ReplyError(trouble)
	case d.Find(name) == nil && o.noCreate:
		d.Depends(history.CheckedPresence)
		d.ReplyNull()
	case !checkType(d, name, "stream", nil):
		addEntry(d, name, wanted, rest[1:], o)
	}
}

// addEntry adds an entry to a stream, which it creates if needed, and trims the stream.
func addEntry(d *store.Data, name string, wanted wantedID, fields []string, o streamOptions) {
	if o.noCreate {
		d.Depends(history.CheckedPresence)
	}
	var last entryID
	if entries := streamOf(d, name); len(entries) > 0 {
		last, _ = parseEntryID(entries[len(entries)-1].ID, 0)
	}
	id, trouble := wanted.after(last, d.Now)
	if trouble != "" {
		d.ReplyError(trouble)
		return
	}
	_, _ = d.DB.XAdd(name, id.String(), slices.Clone(fields)) // cannot fail, since the ID is greater than the last one
	d.Settle(name, store.Change{})
	d.LogCommand(append([]string{"xadd", name, id.String()}, fields...))
	d.Notify(store.Stream, "xadd", name)
	o.carryOut(d, name)
	d.ReplyBulk(id.String())
}

// xtrim implements XTRIM.
func xtrim(d *store.Data, args []string) {
	var o streamOptions
	if _, trouble := o.parse(args[2:], false); trouble != "" {
		d.ReplyError(trouble)
		return
	}
	if !checkType(d, args[1], "stream", func() { d.ReplyInt(0) }) {
		d.ReplyInt(o.carryOut(d, args[1]))
	}
}

// xlen implements XLEN.
func xlen(d *store.Data, args []string) {
	if !checkType(d, args[1], "stream", func() { d.ReplyInt(0) }) {
		d.ReplyInt(int64(len(streamOf(d, args[1]))))
	}
}

// xrange implements XRANGE.
func xrange(d *store.Data, args []string) {
	from, trouble := parseStreamBound(args[2], false)
	to, alsoTrouble := parseStreamBound(args[3], true)
	count := int64(math.MaxInt64)
	if trouble = cmp.Or(trouble, alsoTrouble); trouble == "" {
		count, trouble = parseCount(args[4:])
	}
	if trouble != "" {
		d.ReplyError(trouble)
		return
	}
	if checkType(d, args[1], "stream", func() { d.ReplyLen(0) }) {
		return
	}
	if count <= 0 {
		d.ReplyNullArray()
		return
	}
	var within []miniredis.StreamEntry
	for _, e := range streamOf(d, args[1]) {
		id, _ := parseEntryID(e.ID, 0)
		if id.compare(from) >= 0 && id.compare(to) <= 0 && int64(len(within)) < count {
			within = append(within, e)
		}
	}
	d.ReplyLen(len(within))
	for _, e := range within {
		d.ReplyLen(2)
		d.ReplyBulk(e.ID)
		d.ReplyLen(len(e.Values))
		for _, v := range e.Values {
			d.ReplyBulk(v)
		}
	}
}

// parseCount parses XRANGE's option COUNT, which may be given several times. It returns an error message, or "" if
// there is none.
func parseCount(words []string) (count int64, trouble string) {
	count = math.MaxInt64
	for ; len(words) > 0; words = words[2:] {
		if !strings.EqualFold(words[0], "COUNT") || len(words) < 2 {
			return 0, resp.ErrSyntax
		}
		var ok bool
		if count, ok = resp.ParseInt(words[1]); !ok {
			return 0, resp.ErrNotInt
		}
	}
	return count, ""
}
