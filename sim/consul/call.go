package consul

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim/http1"
)

// call is a decoded request that a member has received. The members share it, so it does not change once it has been
// sent to the leader.
type call struct {
	op      op
	key     string
	value   []byte
	flags   uint64
	cas     uint64
	session session // the session to create; for other operations, only its ID
	mode    mode
	raw     bool // the reply must be just the value

	// The fields below are for blocking queries.
	index uint64 // 0 if the query does not block
	wait  time.Duration
}

// mode is a read's consistency mode.
type mode uint8

const (
	byLeader   mode = iota // the leader answers without asking the others (the default)
	consistent             // the leader answers after asking a majority
	stale                  // the member that received the request answers
)

// reads reports whether the operation only reads.
func (o op) reads() bool { return o == opGet || o == opSessionInfo }

// reply is the HTTP reply to a call.
type reply struct {
	code   int
	body   string
	json   bool
	query  bool // the reply is to a read and has an index
	index  uint64
	leader bool // the member that answered knows a leader
}

func (r *reply) bytes() []byte {
	var fields []string
	if r.json {
		fields = append(fields, "Content-Type: application/json")
	} else if r.body != "" {
		fields = append(fields, "Content-Type: text/plain; charset=utf-8")
	}
	if r.query {
		fields = append(fields, "X-Consul-Index: "+strconv.FormatUint(max(r.index, 1), 10),
			"X-Consul-Knownleader: "+strconv.FormatBool(r.leader), "X-Consul-Lastcontact: 0")
	}
	return http1.Reply(r.code, []byte(r.body), fields...)
}

// fail returns a reply with an error message.
func fail(code int, format string, args ...any) *reply {
	return &reply{code: code, body: fmt.Sprintf(format, args...)}
}

// options lists the accepted query options for each kind of path. dc, leader and pretty have no effect here.
var options = map[string][]string{
	"kv": {"dc", "flags", "cas", "acquire", "release", "index", "wait", "stale", "consistent", "leader", "raw",
		"pretty"},
	"session": {"dc", "index", "wait", "stale", "consistent", "leader", "pretty"},
}

// readCall decodes a request. If the request must be refused, readCall returns the reply to send instead.
func readCall(r *http1.Request) (*call, *reply) {
	u, err := url.ParseRequestURI(r.URI)
	if err != nil {
		return nil, fail(400, "400 Bad Request")
	}
	c, query := &call{}, u.Query()
	parts := strings.SplitN(strings.TrimPrefix(u.Path, "/v1/"), "/", 2)
	if !strings.HasPrefix(u.Path, "/v1/") || len(parts) < 2 || options[parts[0]] == nil {
		return nil, fail(404, "fencepost: %s is not simulated", u.Path)
	}
	for _, o := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(options[parts[0]], o) {
			return nil, fail(501, "fencepost: the option %s is not simulated", o)
		}
	}
	if refused := c.readQuery(query); refused != nil {
		return nil, refused
	}
	if parts[0] == "kv" {
		c.key = parts[1]
		return c, c.readKV(r, query)
	}
	return c, c.readSession(r, parts[1])
}

// readQuery decodes the options that matter only to reads.
func (c *call) readQuery(query url.Values) *reply {
	var err error
	if wait := query.Get("wait"); wait != "" {
		if c.wait, err = time.ParseDuration(wait); err != nil {
			return fail(400, "Invalid wait time")
		}
	}
	if index := query.Get("index"); index != "" {
		if c.index, err = strconv.ParseUint(index, 10, 64); err != nil {
			return fail(400, "Invalid index")
		}
	}
	switch {
	case query.Has("stale") && query.Has("consistent"):
		return fail(400, "Cannot specify ?stale with ?consistent, conflicting semantics.")
	case query.Has("stale"):
		c.mode = stale
	case query.Has("consistent"):
		c.mode = consistent
	}
	c.raw = query.Has("raw")
	return nil
}

// maxValue is the maximum length in bytes of a key's value (limits.kv_max_value_size).
const maxValue = 512 << 10

// readKV decodes a key request.
func (c *call) readKV(r *http1.Request, query url.Values) *reply {
	if c.key == "" {
		return fail(400, "Missing key name")
	}
	number := func(name string) (n uint64, failed *reply) {
		n, err := strconv.ParseUint(query.Get(name), 10, 64)
		if err != nil {
			failed = fail(500, "%v", err)
		}
		return n, failed
	}
	exclusive := map[string][]string{"PUT": {"cas", "acquire", "release"}, "DELETE": {"cas"}}[r.Method]
	given := slices.DeleteFunc(exclusive, func(o string) bool { return !query.Has(o) })
	if len(given) > 1 {
		return fail(400, "Conflicting flags: %s", query.Encode())
	}
	var refused *reply
	switch r.Method {
	case "GET":
		c.op = opGet
		return nil
	case "DELETE":
		c.op = opDelete
	case "PUT":
		if c.op, c.value = opPut, []byte(r.Body); query.Has("flags") {
			c.flags, refused = number("flags")
		}
	default:
		return fail(405, "method %s not allowed", r.Method)
	}
	if refused == nil && len(given) > 0 {
		switch given[0] {
		case "cas":
			if c.cas, refused = number("cas"); c.op == opDelete {
				c.op = opDeleteCAS
			} else {
				c.op = opCAS
			}
		case "acquire":
			c.op, c.session.ID = opAcquire, query.Get("acquire")
		case "release":
			c.op, c.session.ID = opRelease, query.Get("release")
		}
	}
	if refused == nil && len(c.value) > maxValue {
		refused = fail(413, "Request body(%d bytes) too large, max size: %d bytes. "+
			"See https://www.consul.io/docs/agent/options.html#kv_max_value_size.", len(c.value), maxValue)
	}
	return refused
}

// sessionOps lists the session requests, with their HTTP methods.
var sessionOps = map[string]struct {
	op     op
	method string
}{
	"create": {opSessionCreate, "PUT"}, "destroy": {opSessionDestroy, "PUT"}, "renew": {opSessionRenew, "PUT"},
	"info": {opSessionInfo, "GET"},
}

// readSession decodes a session request. path is the rest of the request's path.
func (c *call) readSession(r *http1.Request, path string) *reply {
	what, id, _ := strings.Cut(path, "/")
	o, known := sessionOps[what]
	switch {
	case !known:
		return fail(404, "fencepost: %s is not simulated", r.URI)
	case o.method != r.Method:
		return fail(405, "method %s not allowed", r.Method)
	case what != "create" && id == "":
		return fail(400, "Missing session")
	}
	c.op, c.session.ID = o.op, id
	if c.op == opSessionCreate {
		return c.session.read(r.Body)
	}
	return nil
}

// Session defaults and limits.
const (
	DefaultLockDelay = 15 * time.Second
	// MinTTL and MaxTTL are the smallest and largest TTLs that a server accepts by default (session_ttl_min).
	MinTTL = 10 * time.Second
	MaxTTL = 24 * time.Hour

	serfHealth = "serfHealth"
	// inSeconds is the limit below which a lock delay is interpreted as seconds instead of nanoseconds
	// (lockDelayMinThreshold).
	inSeconds = 1000
)

// read decodes the body of a request to create a session, and stores the result in x.
func (x *session) read(body string) *reply {
	in := struct {
		Name, Node, Behavior, TTL string
		LockDelay                 any
		NodeChecks, Checks        *[]string
	}{}
	if body != "" {
		if err := json.NewDecoder(strings.NewReader(body)).Decode(&in); err != nil {
			return fail(400, "Request decode failed: %v", err)
		}
	}
	*x = session{Name: in.Name, Node: in.Node, Behavior: in.Behavior, TTL: in.TTL, LockDelay: DefaultLockDelay,
		NodeChecks: []string{serfHealth}}
	switch {
	case in.NodeChecks != nil:
		x.NodeChecks = *in.NodeChecks
	case in.Checks != nil && len(*in.Checks) == 0:
		x.NodeChecks = []string{}
	}
	if len(x.NodeChecks) > 0 && x.NodeChecks[0] != serfHealth || in.Checks != nil && len(*in.Checks) > 0 {
		return fail(501, "fencepost: health checks are not simulated")
	}
	var err error
	switch delay := in.LockDelay.(type) {
	case string:
		x.LockDelay, err = time.ParseDuration(delay)
	case float64:
		x.LockDelay = time.Duration(delay)
	}
	if err != nil {
		return fail(400, "Request decode failed: %v", err)
	}
	if x.LockDelay < inSeconds {
		x.LockDelay *= time.Second
	}
	return nil
}

// check returns the leader's error reply if it refuses to create the session, or nil if the session is valid. It also
// sets the default behavior, and decodes the TTL. Only the leader checks this, so a follower's client is told that the
// error comes from a call.
func (x *session) check() *reply {
	switch x.Behavior {
	case "":
		x.Behavior = Release
	case Release, Delete:
	default:
		return fail(500, "Invalid Behavior setting '%s'", x.Behavior)
	}
	if x.TTL == "" {
		return nil
	}
	var err error
	if x.ttl, err = time.ParseDuration(x.TTL); err != nil {
		return fail(500, "Session TTL '%s' invalid: %v", x.TTL, err)
	}
	if x.ttl != 0 && (x.ttl < MinTTL || x.ttl > MaxTTL) {
		return fail(500, "Invalid Session TTL '%d', must be between [%v=%v]", x.ttl, MinTTL, MaxTTL)
	}
	return nil
}

// Name returns the name that Consul's client library uses for a request. A request that is refused is named after its
// method.
func Name(args []string) string {
	if r, ok := http1.Read(args); ok {
		if c, refused := readCall(&r); refused == nil {
			return string(c.op)
		}
		return r.Method
	}
	return strings.ToUpper(args[0])
}
