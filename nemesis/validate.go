package nemesis

import (
	"reflect"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/sim"
)

// Validate checks f against a run: that every process exists and is of a sort that the fault can strike, and that f is a
// fault that a line can state. That a protocol never passes a point is no error. A returned error is a *ParseError
// whose column counts in f.String().
func Validate(f Fault, known Names) error {
	parsed, p, err := parseLine(f.String(), &known)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(parsed, f) {
		return &ParseError{Column: 1, Msg: "the fault has values that its line cannot state"}
	}
	if err := validate(f, p, &known); err != nil {
		return err
	}
	return nil
}

// ParseFor is Parse and Validate in one, with columns that count in line as it was written.
func ParseFor(line string, known Names) (Fault, error) {
	f, err := parseFor(line, &known)
	if err == nil {
		return f, nil
	}
	if err.Nearest != "" && !accepted(line, err, &known) {
		err.Nearest = ""
	}
	return Fault{}, err
}

func parseFor(line string, known *Names) (Fault, *ParseError) {
	f, p, err := parseLine(line, known)
	if err == nil {
		err = validate(f, p, known)
	}
	return f, err
}

// accepted reports whether the nearest text that err offers would be right at its place, whatever is wrong elsewhere.
func accepted(line string, err *ParseError, known *Names) bool {
	runes := []rune(line)
	at := min(err.Column-1, len(runes))
	rest := strings.TrimLeftFunc(string(runes[at:]), func(r rune) bool { return r != ' ' && r != '\t' && r != ',' })
	_, again := parseFor(string(runes[:at])+err.Nearest+rest, known)
	return again == nil || again.Column < err.Column || again.Column >= err.Column+len([]rune(err.Nearest))
}

// validate returns the first thing wrong with f, which p has read.
func validate(f Fault, p *parser, known *Names) *ParseError {
	v := validator{parser: p, known: known}
	v.fault(f)
	if v.err == nil {
		v.trigger(f)
	}
	return v.err
}

type validator struct {
	*parser
	known *Names
}

func (v *validator) fault(f Fault) {
	switch f.Kind {
	case Pause, Jump, Drift:
		v.is(f.Target, anyRole, "a process of this run")
	case Crash:
		v.crash(f)
	case ShutDown:
		v.is(f.Target, role.isServer, "a lock server")
	case FailOver:
		v.failOver(f)
	case Cut:
		v.cut(f)
	case DelayLink, DelayMessage:
		v.link(f)
	case Break:
		v.is(f.Target, isRole(client), "a client, named first")
		v.is(f.Peer, func(r role) bool { return r.isServer() || r == theResource }, "a lock server or the resource")
	case SlowFsync:
		v.is(f.Target, isRole(redisNode), "a Redis node")
	case ExpireSession:
		v.is(f.Target, isRole(client), "a client")
		if len(v.known.Consensus) == 0 {
			v.failWord("session", "Redis keeps no sessions: only etcd and ZooKeeper do")
		}
	}
}

func (v *validator) crash(f Fault) {
	v.is(f.Target, func(r role) bool { return r == client || r.isServer() }, "a client or a lock server")
	switch isServer := v.known.role(f.Target).isServer(); {
	case isServer && f.Loss == LosesMemory:
		v.failWord(string(f.Target), "say what "+string(f.Target)+` loses: "losing unsynced writes" or "losing everything"`)
	case !isServer && f.Loss != LosesMemory:
		v.failWord("losing", "a client has nothing on disk to lose: leave this out")
	case !isServer && f.Restart > 0:
		v.failWord("restart", "a client that has crashed does not come back: leave this out")
	}
}

func (v *validator) failOver(f Fault) {
	v.is(f.Target, isRole(redisNode), "a Redis node")
	v.is(f.Peer, isRole(redisNode), "a Redis node")
	group := v.known.shard(f.Target)
	var others []string
	for _, p := range group {
		if p != f.Target {
			others = append(others, string(p))
		}
	}
	switch {
	case f.Peer == f.Target:
		v.failWord(string(f.Peer), string(f.Peer)+" cannot take over from itself")
	case len(others) == 0:
		v.failWord(string(f.Target), string(f.Target)+" has no replica to fail over to")
	case !slices.Contains(group, f.Peer):
		near := nearest.Word(string(f.Peer), others)
		if near == "" {
			near = others[0]
		}
		v.failNear(string(f.Peer), string(f.Peer)+" does not replicate "+string(f.Target), near)
	}
}

func (v *validator) cut(f Fault) {
	ends := f.On()
	for i, p := range ends {
		v.is(p, anyRole, "a process of this run")
		if slices.Contains(ends[:i], p) {
			v.failWord(string(p), string(p)+" is named twice")
		}
	}
	for _, a := range f.Left {
		for _, b := range f.Right {
			if v.known.Linked(a, b) {
				return
			}
		}
	}
	v.failWord(string(f.Right[0]), "nothing on the left talks to anything on the right: there is no link to cut")
}

func (v *validator) link(f Fault) {
	v.is(f.Target, anyRole, "a process of this run")
	v.is(f.Peer, anyRole, "a process of this run")
	if !v.known.Linked(f.Target, f.Peer) {
		v.failWord(string(f.Peer), string(f.Target)+" sends nothing to "+string(f.Peer))
	}
}

// trigger checks that a named point has a client that can pass it.
func (v *validator) trigger(f Fault) {
	if f.Trigger.Point == "" {
		return
	}
	if f.Trigger.By != "" {
		v.is(f.Trigger.By, isRole(client), "a client")
		return
	}
	if f.PassedBy() == "" {
		point, nearest := string(f.Trigger.Point), ""
		if len(v.known.Clients) > 0 {
			nearest = point + " by " + string(v.known.Clients[0])
		}
		v.failNear(point, "only clients pass points: say which client", nearest)
	}
}

func anyRole(r role) bool { return true }

func isRole(right role) func(role) bool { return func(r role) bool { return r == right } }

// is fails unless p is a process of a right role; what names these roles.
func (v *validator) is(p sim.ProcessID, right func(role) bool, what string) {
	r := v.known.role(p)
	switch {
	case r == unknown:
		v.failNear(string(p), "no process of this run is called "+string(p), v.known.meant(string(p), right))
	case !right(r):
		v.failWord(string(p), "expected "+what+", but "+string(p)+" is "+r.String())
	}
}

func (v *validator) failWord(word, msg string) { v.failNear(word, msg, "") }

// failNear fails at the last place where word stands, which is the wrong one of two.
func (v *validator) failNear(word, msg, nearest string) {
	column := 1
	for _, t := range v.tokens {
		if t.text == word {
			column = t.column
		}
	}
	v.failAt(column, msg, nearest)
}
