package redis

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// passOn has miniredis execute a command that affects only values. It determines the command's effect by comparing the
// keys before and after.
func passOn(d *store.Data, c *command, args []string) {
	from := len(d.Out)
	was := c.keys.first <= c.keys.last && d.Peek(args[c.keys.first]) != nil
	change := changeOf(d, c, args)
	d.Pass(args)
	reply := d.Out[from:]
	if c.Flags&scored != 0 {
		if step := scoreStep(args); step > 0 {
			d.Out = append(d.Out[:from], rescore(reply, step)...)
			reply = d.Out[from:]
		}
	}
	if c.Flags&unordered != 0 {
		sortArray(reply)
	}
	if reply[0] == '-' {
		return
	}
	settlePassed(d, c, args, was, c.Flags&unlessNil != 0 && saysNothing(reply), change)
	if d.RESP3 {
		d.Out = append(d.Out[:from], upgrade(c, args, d.Out[from:])...)
	}
}

// settlePassed finds out what a command executed by miniredis did to its keys, and logs the command. existed is true if
// the first key existed before the command. unchanged is true if the reply shows that the command changed nothing. For
// change, see changeOf.
func settlePassed(d *store.Data, c *command, args []string, existed, unchanged bool, change store.Change) {
	for i := c.keys.first; i <= c.keys.last; i++ {
		// Redis looks up the first key. If it does not exist, Redis does not look up the second key.
		if d.Find(args[i]); unchanged {
			break
		}
	}
	if c.Flags&write == 0 || unchanged {
		return
	}
	for i := c.keys.first; i <= c.keys.last; i++ {
		d.Settle(args[i], change)
		if d.Notifies != 0 {
			notifyPassed(d, c, args, i, existed)
		}
	}
	d.LogCommand(args)
}

// changeOf returns the parts of a command's effect that cannot be found by comparing the keys before and after. It is
// called before the command is executed.
func changeOf(d *store.Data, c *command, args []string) (done store.Change) {
	switch c.Name {
	case "hset", "hmset":
		for i := 2; i+1 < len(args); i += 2 {
			done.Set = append(done.Set, args[i])
			if d.DB.HGet(args[1], args[i]) == args[i+1] {
				done.Same = append(done.Same, args[i])
			}
		}
	case "zremrangebyscore":
		done.Expired, done.Early = true, d.NotYetDue(args[1])
	}
	return done
}

// saysNothing reports whether a reply means that nothing was changed: 0, null, empty, or -1 from LINSERT.
func saysNothing(reply []byte) bool {
	switch string(bytes.TrimRight(reply, "\r\n")) {
	case ":0", ":-1", "$-1", "*-1", "*0":
		return true
	}
	return false
}

// sortArray sorts the elements of a flat array of bulk strings in place.
func sortArray(reply []byte) {
	head := bytes.IndexByte(reply, '\n') + 1
	if reply[0] != '*' || head == 0 {
		return
	}
	body := reply[head:]
	var items [][]byte
	for rest := body; len(rest) > 0; {
		size := resp.BulkSize(rest)
		if size == 0 {
			return
		}
		items = append(items, rest[:size])
		rest = rest[size:]
	}
	slices.SortFunc(items, func(a, b []byte) int {
		return bytes.Compare(a[bytes.IndexByte(a, '\n'):], b[bytes.IndexByte(b, '\n'):])
	})
	copy(body, bytes.Join(items, nil))
}

// upgrade converts a miniredis reply from RESP2 to RESP3. Like Redis, it uses nulls, maps, sets, doubles for scores,
// and a pair for each member with its score.
func upgrade(c *command, args []string, reply []byte) []byte {
	step := 0
	if c.Flags&scored != 0 {
		step = scoreStep(args)
	}
	if reply[0] != '*' || reply[1] == '-' {
		return upgradeOne(nil, reply, step == 1)
	}
	head := bytes.IndexByte(reply, '\n') + 1
	count, _ := strconv.Atoi(string(reply[1 : head-2])) // no error, since miniredis wrote the number
	pairs := step == 2 && !(len(args) == 2 && c.Flags&write != 0)
	sort := byte('*')
	switch {
	case c.Flags&asMap != 0:
		sort, count = '%', count/2
	case c.Flags&asSet != 0:
		sort = '~'
	case pairs:
		count /= 2
	}
	out := append(strconv.AppendInt([]byte{sort}, int64(count), 10), "\r\n"...)
	for i, rest := 1, reply[head:]; len(rest) > 0; i++ {
		size := resp.BulkSize(rest)
		if size == 0 {
			size = bytes.IndexByte(rest, '\n') + 1 // null, or a number
		}
		if pairs && i%2 == 1 {
			out = append(out, "*2\r\n"...)
		}
		out = upgradeOne(out, rest[:size], step > 0 && i%step == 0)
		rest = rest[size:]
	}
	return out
}

// upgradeOne appends one value that is not an array. A score becomes a double.
func upgradeOne(out, value []byte, score bool) []byte {
	switch {
	case len(value) > 1 && value[1] == '-' && (value[0] == '$' || value[0] == '*'):
		return append(out, "_\r\n"...)
	case score && value[0] == '$':
		_, text, _ := bytes.Cut(value, []byte("\r\n"))
		return append(append(out, ','), text...)
	}
	return append(out, value...)
}
