package consul

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/http1"
)

// Front returns the front end to the HTTP API, for clients that run outside the simulated world.
func Front() sim.Front {
	tooLong := fail(413, "Request body too large")
	return http1.Front{At: 8500, Longest: maxValue + 1<<20, TooLong: string(tooLong.bytes())}
}

// SessionOptions are the options for a new session. The server chooses the values of empty fields.
type SessionOptions struct {
	Name      string `json:",omitempty"`
	TTL       string `json:",omitempty"` // such as "15s"
	LockDelay string `json:",omitempty"`
	Behavior  string `json:",omitempty"`
}

// CreateSession returns the request that creates a session.
func CreateSession(o SessionOptions) http1.Request { return put("/v1/session/create", encode(o)) }

// RenewSession returns the request that restarts a session's TTL.
func RenewSession(id string) http1.Request { return put("/v1/session/renew/"+id, "") }

// DestroySession returns the request that ends a session.
func DestroySession(id string) http1.Request { return put("/v1/session/destroy/"+id, "") }

// lockFlag is the query option that marks a key as a lock (api.LockFlagValue).
const lockFlag = "flags=3304740253564472344"

// Acquire returns the request that locks a key for a session.
func Acquire(key, session, value string) http1.Request {
	return put(path(key)+"?acquire="+session+"&"+lockFlag, value)
}

// ReleaseKey returns the request that unlocks a key held by a session.
func ReleaseKey(key, session, value string) http1.Request {
	return put(path(key)+"?"+lockFlag+"&release="+session, value)
}

// DeleteKey returns the request that deletes a key, no matter which session holds it.
func DeleteKey(key string) http1.Request { return http1.Request{Method: "DELETE", URI: path(key)} }

// GetKey returns the request that reads a key. If consistent is true, the read uses Consul's "consistent" mode. If
// index is not 0, the server replies once the key's index exceeds it, or once wait has passed. If wait is 0, the server
// uses its default.
func GetKey(key string, consistent bool, index uint64, wait time.Duration) http1.Request {
	var options []string
	if consistent {
		options = append(options, "consistent=")
	}
	if index > 0 {
		options = append(options, "index="+strconv.FormatUint(index, 10))
	}
	if wait > 0 {
		options = append(options, "wait="+strconv.FormatInt(wait.Milliseconds(), 10)+"ms")
	}
	return http1.Request{Method: "GET", URI: strings.TrimSuffix(path(key)+"?"+strings.Join(options, "&"), "?")}
}

func path(key string) string {
	u := url.URL{Path: "/v1/kv/" + key}
	return u.EscapedPath()
}

func put(uri, body string) http1.Request {
	r := http1.Request{Method: "PUT", URI: uri, Body: body}
	if body != "" {
		r.ContentType = "application/json"
	}
	return r
}

// Purpose is what a request asks for, as far as it matters to records of the keys on a real server.
type Purpose struct {
	Acquires     bool // it asks for Key to be held by Session
	Creates      bool // it creates a session
	Key, Session string
	TTL          time.Duration // the TTL of the session that it creates; 0 if it creates none, or one without a TTL
	Mode         string        // the query option of a read that any member may answer; otherwise empty
}

// PurposeOf returns a request's purpose. It is zero if the request is not simulated.
func PurposeOf(r *http1.Request) (p Purpose) {
	c, refused := readCall(r)
	if refused != nil {
		return p
	}
	p = Purpose{Acquires: c.op == opAcquire, Creates: c.op == opSessionCreate, Key: c.key, Session: c.session.ID,
		TTL: c.session.ttl}
	if c.op.reads() && c.mode == stale {
		p.Mode = "stale="
	}
	return p
}

// Answer is a decoded reply.
type Answer struct {
	Code  int    // HTTP status; 0 if there is no valid reply
	Index uint64 // X-Consul-Index; 0 if there is none
	Body  string
}

// ReadAnswer decodes a reply.
func ReadAnswer(r *sim.Reply) (a Answer) {
	head, body, ok := strings.Cut(string(r.Raw()), "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	words := strings.Fields(lines[0])
	if !ok || len(words) < 2 {
		return a
	}
	a.Code, _ = strconv.Atoi(words[1])
	for _, line := range lines {
		if index, is := strings.CutPrefix(line, "X-Consul-Index: "); is {
			a.Index, _ = strconv.ParseUint(index, 10, 64)
		}
	}
	a.Body = body
	return a
}

// True reports whether a request to acquire or release a lock succeeded.
func (a Answer) True() bool { return a.Code == 200 && strings.TrimSpace(a.Body) == "true" }

// Session returns the ID of the new session, or "" if the reply does not contain one.
func (a Answer) Session() string {
	var s struct{ ID string }
	if a.Code != 200 || json.Unmarshal([]byte(a.Body), &s) != nil {
		return ""
	}
	return s.ID
}

// Pair is a key as returned by a read. The zero Pair means that the key does not exist.
type Pair struct {
	Key         string
	Value       []byte
	Session     string // ID of the session that holds the key; empty if none does
	LockIndex   uint64 // how many times the key was acquired since it was created or last written without a session
	ModifyIndex uint64
}

// Pair returns the key that was read. ok is false if the reply is an error.
func (a Answer) Pair() (p Pair, ok bool) {
	var list []Pair
	switch {
	case a.Code == 404:
		return p, true
	case a.Code != 200 || json.Unmarshal([]byte(a.Body), &list) != nil || len(list) != 1:
		return p, false
	}
	return list[0], true
}
