package jute

import "encoding/binary"

// ConnectRequest is a client's first record. It asks for a new session, or continues one.
type ConnectRequest struct {
	Seen     int64 // the highest zxid that the client has seen
	Timeout  int32 // ms
	Session  int64 // 0 for a new one
	Password string
	Old      bool // from a client of version 3.3 or earlier, which does not send the read-only flag
}

// Record returns the encoded request.
func (c *ConnectRequest) Record() Record {
	r := Record(nil).Int(0).Long(c.Seen).Int(c.Timeout).Long(c.Session).Text(c.Password)
	if c.Old {
		return r
	}
	return r.Flag(false)
}

// ReadConnect decodes a client's first record. ok is false if it is not complete.
func ReadConnect(b []byte) (c ConnectRequest, ok bool) {
	f := Fields{Rest: b}
	f.Int() // the version of the protocol
	c.Seen, c.Timeout, c.Session, c.Password = f.Long(), f.Int(), f.Long(), f.Text()
	c.Old = len(f.Rest) == 0
	return c, !f.Torn
}

// ConnectReply returns a server's first record. For a session that is over, the session and the timeout are 0.
func ConnectReply(session int64, timeout int32, password string, old bool) Record {
	r := Record(nil).Int(0).Int(timeout).Long(session).Text(password)
	if old {
		return r
	}
	return r.Flag(false)
}

// Head returns the beginning of a request.
func Head(xid int32, op Op) Record { return Record(nil).Int(xid).Int(int32(op)) }

// Cut cuts the first frame off b. whole is false if the frame is not complete yet. sound is false if a server would
// refuse its length.
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

// words are the four-letter commands that a server accepts in place of a first record.
var words = map[string]bool{"conf": true, "cons": true, "crst": true, "dirs": true, "dump": true, "envi": true,
	"gtmk": true, "hash": true, "isro": true, "lsnp": true, "mntr": true, "ruok": true, "srst": true, "srvr": true,
	"stat": true, "stmk": true, "wchc": true, "wchp": true, "wchs": true}

// Word returns the four-letter command at the start of b, or "" if there is none.
func Word(b []byte) string {
	if len(b) >= 4 && words[string(b[:4])] {
		return string(b[:4])
	}
	return ""
}
