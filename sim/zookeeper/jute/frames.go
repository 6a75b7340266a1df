package jute

import "encoding/binary"

// ConnectRequest is the first record that a client sends. It requests a new session or continues an existing one.
type ConnectRequest struct {
	Seen     int64 // the highest zxid that the client has seen
	Timeout  int32 // session timeout in ms
	Session  int64 // ID of the session to continue; 0 requests a new session
	Password string
	Old      bool // the client's version is 3.3 or earlier, which does not send the read-only flag
}

// Record returns the encoded request.
func (c *ConnectRequest) Record() Record {
	r := Record(nil).Int(0).Long(c.Seen).Int(c.Timeout).Long(c.Session).Text(c.Password)
	if c.Old {
		return r
	}
	return r.Flag(false)
}

// ReadConnect decodes a client's first record. ok is false if the record is incomplete.
func ReadConnect(b []byte) (c ConnectRequest, ok bool) {
	f := Fields{Rest: b}
	f.Int() // skips the protocol version
	c.Seen, c.Timeout, c.Session, c.Password = f.Long(), f.Int(), f.Long(), f.Text()
	c.Old = len(f.Rest) == 0
	return c, !f.Torn
}

// ConnectReply encodes the first record that a server sends. If the session has ended, session and timeout are 0.
func ConnectReply(session int64, timeout int32, password string, old bool) Record {
	r := Record(nil).Int(0).Int(timeout).Long(session).Text(password)
	if old {
		return r
	}
	return r.Flag(false)
}

// Head returns the first fields of a request.
func Head(xid int32, op Op) Record { return Record(nil).Int(xid).Int(int32(op)) }

// Cut splits the first frame off b. whole is false if the frame is incomplete. sound is false if the frame's length
// would make a server refuse it.
func Cut(b []byte) (record, rest []byte, whole, sound bool) {
	if len(b) < 4 {
		return nil, b, false, true
	}
	n := binary.BigEndian.Uint32(b)
	switch {
	case n > maxBuffer:
		return nil, nil, true, false
	case len(b)-4 < int(n):
		return nil, b, false, true
	}
	return b[4 : 4+n], b[4+n:], true, true
}

// words contains the four-letter commands that a server accepts instead of a first record.
var words = map[string]bool{"conf": true, "cons": true, "crst": true, "dirs": true, "dump": true, "envi": true,
	"gtmk": true, "hash": true, "isro": true, "lsnp": true, "mntr": true, "ruok": true, "srst": true, "srvr": true,
	"stat": true, "stmk": true, "wchc": true, "wchp": true, "wchs": true}

// Word returns the four-letter command at the start of b, or "" if b does not start with a command.
func Word(b []byte) string {
	if len(b) >= 4 && words[string(b[:4])] {
		return string(b[:4])
	}
	return ""
}
