package realtime

import (
	"bytes"
	"errors"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
)

// mostInline is the maximum length of an inline command in bytes, as in Redis (PROTO_INLINE_MAX_SIZE in server.h).
const mostInline = 64 << 10

// errInline reports an inline command that is too long, or that contains characters that neither a person nor a health
// check would send.
var errInline = errors.New("the bytes are neither a RESP array nor an inline command")

// cutRequest parses the first request in b, and returns its words and the bytes after it. A request is an array of bulk
// strings, or an inline command without quotes, such as a health check's "PING". args is nil if the request is
// incomplete. It is also nil for an empty line or an empty array, which is skipped.
func cutRequest(b []byte) (args []string, rest []byte, err error) {
	if b[0] == '*' {
		return sim.CutRequest(b)
	}
	line, rest, whole := bytes.Cut(b, []byte("\n"))
	text := strings.TrimSuffix(string(line), "\r")
	if len(line) > mostInline || strings.ContainsFunc(text, func(c rune) bool {
		return c < ' ' && c != '\t' || c == '"' || c == '\'' || c == '\u007f' || c == '\ufffd'
	}) {
		return nil, b, errInline
	}
	if !whole {
		return nil, b, nil
	}
	return strings.Fields(text), rest, nil
}
