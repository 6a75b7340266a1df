package redis

import (
	"bytes"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// upgrade writes a reply of miniredis, which is in RESP2, as Redis gives it in RESP3: null is a type, scores are
// doubles, and there are maps, sets, and pairs of members and scores.
func upgrade(c *command, args []string, reply []byte) []byte {
	step := 0
	if c.Flags&scored != 0 {
		step = scoreStep(args)
	}
	if reply[0] != '*' || reply[1] == '-' {
		return upgradeOne(nil, reply, step == 1)
	}
	head := bytes.IndexByte(reply, '\n') + 1
	count, _ := strconv.Atoi(string(reply[1 : head-2])) // miniredis wrote it
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

// upgradeOne appends one value that is no array; a score becomes a double.
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
