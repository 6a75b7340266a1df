package bubble

import (
	"crypto/sha1"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// owners tells, from what a guest says to the servers, on behalf of which attempt it says so: by the owner value,
// which a SET or a script carries. It is used by the driver alone, or with its mu held.
type owners struct {
	attempt history.Attempt            // the latest that the client has begun
	of      map[string]history.Attempt // the attempt whose value it is
	try     try
	scripts scripts // those of all guests of the run: one is answered to the hash of what another has told
	shift   time.Duration
}

// scripts says of the hash of each script that a guest has told the text of whether that can set a key.
type scripts map[string]bool

// try is one round of requests for the lock. A library may make several until it has it.
type try struct {
	since   sim.Time
	asked   []sim.ProcessID
	granted []sim.ProcessID
}

// begin begins an attempt. Until a request for the lock is seen it counts from now.
func (o *owners) begin(a history.Attempt, now sim.Time) { o.attempt, o.try = a, try{since: now} }

// tag says on whose behalf a request is made and what it is for.
func (o *owners) tag(w *sim.World, server sim.ProcessID, args []string) (history.Attempt, string) {
	command := strings.ToLower(args[0])
	value, sets := o.ownerValue(command, args)
	if sets {
		if slices.Contains(o.try.asked, server) || len(o.try.asked) == 0 {
			o.try = try{since: w.Now()}
		}
		o.try.asked = append(o.try.asked, server)
	}
	if value == "" {
		return o.attempt, command
	}
	known, ok := o.of[value]
	if !ok || sets {
		known = o.attempt
		if o.of == nil {
			o.of = map[string]history.Attempt{}
		}
		o.of[value] = known
	}
	return known, command
}

// answered notes who has said yes to a request for the lock.
func (o *owners) answered(server sim.ProcessID, to *sim.Incoming, reply []byte) {
	if to.Attempt != o.attempt || slices.Contains(o.try.granted, server) || !slices.Contains(o.try.asked, server) {
		return
	}
	if _, sets := o.ownerValue(strings.ToLower(to.Args[0]), to.Args); sets && positive(reply) {
		o.try.granted = append(o.try.granted, server)
	}
}

// positive reports whether a reply says yes: OK, a number other than zero, a string.
func positive(reply []byte) bool {
	r := sim.NewReply(reply)
	if n, ok := r.Int(); ok {
		return n != 0
	}
	_, ok := r.Bulk()
	return r.OK() || ok
}

// ownerValue is the owner value in a request, empty if there is none. sets says that the request is one for the lock:
// a SET NX, or a script that can set a key.
func (o *owners) ownerValue(command string, args []string) (value string, sets bool) {
	switch command {
	case "set", "setnx":
		if len(args) > 2 {
			return args[2], command == "setnx" || slices.ContainsFunc(args[3:], func(a string) bool { return strings.EqualFold(a, "nx") })
		}
	case "eval", "evalsha":
		if len(args) < 3 {
			return "", false
		}
		if keys, err := strconv.Atoi(args[2]); err == nil && keys >= 0 && len(args) > 3+keys {
			return args[3+keys], o.scripts.setsKey(command, args[1])
		}
	case "script":
		if len(args) == 3 && strings.EqualFold(args[1], "load") {
			o.scripts.setsKey("eval", args[2])
		}
	}
	return "", false
}

// setsKey reports whether a script, or the one that has the given hash, calls SET, SETNX or PSETEX. A hash that no
// guest has told the text of says nothing.
func (known scripts) setsKey(command, script string) bool {
	if command == "evalsha" {
		return known[strings.ToLower(script)]
	}
	hash := fmt.Sprintf("%x", sha1.Sum([]byte(script)))
	sets, told := known[hash]
	if !told {
		sets = setting.MatchString(script)
		known[hash] = sets
	}
	return sets
}

var setting = regexp.MustCompile(`(?i)call\(\s*['"](set|setnx|psetex)['"]`)

// told is what a digest takes for a part of a request or a reply: the attempt for its owner value, and times as if the
// run were the first in its bubble.
func (o *owners) told(part string) string {
	if a, ok := o.of[part]; ok {
		return string(a)
	}
	if len(part) == len("1767225600000") && part[0] == '1' { // ms since the Unix epoch
		if n, err := strconv.ParseInt(part, 10, 64); err == nil {
			return strconv.FormatInt(n-o.shift.Milliseconds(), 10)
		}
	}
	return part
}
