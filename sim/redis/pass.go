package redis

import (
	"bytes"
	"slices"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// passOn makes miniredis execute a command that concerns only data. Its effect on the keys is found by comparing.
func passOn(d *store.Data, c *command, args []string) {
	from := len(d.Out)
	was := c.keys.first <= c.keys.last && d.Peek(args[c.keys.first]) != nil
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
	settlePassed(d, c, args, was, c.Flags&unlessNil != 0 && saysNothing(reply))
	if d.RESP3 {
		d.Out = append(d.Out[:from], upgrade(c, args, d.Out[from:])...)
	}
}

// settlePassed finds out what a command passed on to miniredis did to its keys; nothing, if its reply says so. was
// reports whether the first of them existed.
func settlePassed(d *store.Data, c *command, args []string, was, nothing bool) {
	for i := c.keys.first; i <= c.keys.last; i++ {
		if d.Find(args[i]); nothing { // Redis has come across it, and without a source looks no further
			break
		}
	}
	if c.Flags&write == 0 || nothing {
		return
	}
	for i := c.keys.first; i <= c.keys.last; i++ {
		d.Settle(args[i], changeOf(c, args))
		if d.Notifies != 0 {
			notifyPassed(d, c, args, i, was)
		}
	}
	d.LogCommand(args)
}

// changeOf returns what comparing would not show.
func changeOf(c *command, args []string) (done store.Change) {
	switch c.Name {
	case "hset", "hmset":
		for i := 2; i < len(args); i += 2 {
			done.Set = append(done.Set, args[i])
		}
	case "zremrangebyscore":
		done.Expired = true
	}
	return done
}

// saysNothing reports whether a reply is 0, null or empty, or the -1 of LINSERT.
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
