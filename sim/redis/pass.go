package redis

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// passOn has miniredis execute a command that is only about data. What became of the keys is found by comparing.
func (n *Node) passOn(c *command, args []string) {
	from := len(n.out)
	n.data.pass(args)
	reply := n.out[from:]
	if c.flags&scored != 0 {
		if step := scoreStep(args); step > 0 {
			n.out = append(n.out[:from], rescore(reply, step)...)
			reply = n.out[from:]
		}
	}
	if c.flags&unordered != 0 {
		sortArray(reply)
	}
	if reply[0] == '-' {
		return
	}
	nothing := c.flags&unlessNil != 0 && saysNothing(reply)
	for i := c.keys.first; i <= c.keys.last; i++ {
		if n.find(args[i]); nothing { // Redis has come across it, and without a source looks no further
			break
		}
	}
	if c.flags&write == 0 || nothing {
		return
	}
	for i := c.keys.first; i <= c.keys.last; i++ {
		n.settle(args[i], changeOf(c, args))
	}
	n.logCommand(args)
}

// changeOf says what comparing would not show.
func changeOf(c *command, args []string) (done change) {
	switch c.name {
	case "hset", "hmset":
		for i := 2; i < len(args); i += 2 {
			done.set = append(done.set, args[i])
		}
	case "zremrangebyscore":
		done.expired = true
	}
	return done
}

// settle brings the entry of a key into line with what miniredis now has.
func (n *Node) settle(name string, c change) {
	k := n.data.keys[name]
	kind := n.data.db.Type(name) // empty if there is none
	switch {
	case kind == "" && k == nil:
		return
	case kind == "" && c.expired:
		n.gone(name, k, history.Expired, "")
		return
	case kind == "":
		n.gone(name, k, history.Deleted, n.attempt)
		return
	}
	made := k == nil
	if k == nil {
		k = n.data.add(name, n.attempt, kind == "string")
	}
	if !made && k.members == nil && hasMembers(kind) {
		n.overwrite(name, k, true)
	}
	if c.replaced {
		n.data.expireAt(name, k, never)
		k.of, k.text = n.attempt, kind == "string"
	}
	switch {
	case hasMembers(kind) && k.members == nil:
		k.members = map[string]history.Attempt{}
		n.settleMembers(name, k, c)
	case hasMembers(kind):
		n.settleMembers(name, k, c)
	case made || c.replaced:
		n.recordSet(name, n.valueOf(name, k), k)
	}
	n.changed(name)
}

// valueOf is the value of a key as records give it: empty unless it is a string.
func (n *Node) valueOf(name string, k *key) string {
	if !k.text {
		return ""
	}
	return n.data.get(name)
}

// saysNothing reports whether a reply is 0, null or empty.
func saysNothing(reply []byte) bool {
	switch string(bytes.TrimRight(reply, "\r\n")) {
	case ":0", "$-1", "*-1", "*0":
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
		size := bulkSize(rest)
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

// bulkSize is the number of bytes of the bulk string at the start of b; 0 if there is none.
func bulkSize(b []byte) int {
	line := bytes.IndexByte(b, '\n')
	if b[0] != '$' || line < 2 {
		return 0
	}
	size, err := strconv.Atoi(string(b[1 : line-1]))
	if err != nil || size < 0 || line+1+size+2 > len(b) {
		return 0
	}
	return line + 1 + size + 2
}
