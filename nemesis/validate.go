package nemesis

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
)

// Validate checks that f is possible in a run. Every process must exist and have a role that permits the fault, and it
// must be possible to write f as text. If f's trigger is a point that clients do not reach in this run, that is usually
// not an error: f then does not strike. But if the clients are programs, they must be able to report the point (see
// Names.Passed). Any error that Validate returns is a *ParseError with a column that refers to f.String().
func Validate(f Fault, known Names) error {
	parsed, p, err := parseLine(f.String(), &known)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(parsed, f) {
		return &ParseError{Column: 1, Msg: "the fault has values that its text form cannot express"}
	}
	if err := validate(f, p, &known); err != nil {
		return err // if err were nil and returned without this check, it would become an error that is not nil
	}
	return nil
}

// ParseFor parses and validates a line. Columns in errors refer to the line as given.
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

// accepted reports whether the word suggested by err would be valid at its position, even if the line has errors
// elsewhere.
func accepted(line string, err *ParseError, known *Names) bool {
	runes := []rune(line)
	at := min(err.Column-1, len(runes))
	rest := strings.TrimLeftFunc(string(runes[at:]), func(r rune) bool { return r != ' ' && r != '\t' && r != ',' })
	_, again := parseFor(string(runes[:at])+err.Nearest+rest, known)
	return again == nil || again.Column < err.Column || again.Column >= err.Column+len([]rune(err.Nearest))
}

// validate returns the first error in f. p is the parser that parsed f.
func validate(f Fault, p *parser, known *Names) *ParseError {
	v := validator{parser: p, known: known}
	v.fault(&f)
	if v.err == nil {
		v.trigger(f)
	}
	return v.err
}

type validator struct {
	*parser
	known *Names
}

func (v *validator) fault(f *Fault) {
	d := f.Kind.definition()
	if d.target.right != nil {
		v.checkRole(f.Target, d.target)
	}
	if d.peer.right != nil {
		v.checkRole(f.Peer, d.peer)
	}
	if d.check != nil {
		d.check(v, f)
	}
}

// trigger checks a fault's trigger. There must be a client that can pass its point, or send or receive its message.
func (v *validator) trigger(f Fault) {
	switch m := &f.Trigger.Message; {
	case !f.Kind.Has(FieldTrigger):
		return
	case m.Named():
		v.message(f, m)
		return
	}
	if f.Trigger.Point == "" {
		return
	}
	if !v.known.passes(f.Trigger.Point) {
		v.failNear(string(f.Trigger.Point), fmt.Sprintf("no client passes this point: "+
			"programs pass only the points that they report, %q", v.known.Passed), "")
		return
	}
	if f.Trigger.By != "" {
		v.checkRole(f.Trigger.By, aClient)
		return
	}
	if f.PassedBy() == "" {
		point, nearest := string(f.Trigger.Point), ""
		if len(v.known.Clients) > 0 {
			nearest = point + " by " + string(v.known.Clients[0])
		}
		v.failNear(point, "only clients pass points: name a client", nearest)
	}
}

// message checks that there is a client that can send the message and a server that can answer it.
func (v *validator) message(f Fault, m *Message) {
	if m.Of != "" {
		v.checkRole(m.Of, aClient)
	} else if f.PassedBy() == "" {
		nearest := ""
		if len(v.known.Clients) > 0 {
			nearest = "the"
		}
		v.failNear("its", "only clients send requests: name the client, as in the DEL of client-1", nearest)
	}
	if m.To != "" {
		v.checkRole(m.To, answers)
	}
}

func anyRole(r role) bool { return true }

func isRole(right role) func(role) bool { return func(r role) bool { return r == right } }

// roles is the set of roles that a process may have at one position in a fault line.
type roles struct {
	right func(role) bool
	what  string // describes the roles in error messages
}

var (
	anyProcess = roles{anyRole, "a process of this run"}
	aClient    = roles{isRole(client), "a client"}
	answers    = roles{func(r role) bool { return r.isServer() || r == theResource },
		"a lock server or the resource"}
	lockServer     = roles{role.isServer, "a lock server"}
	aRedisNode     = roles{isRole(redisNode), "a Redis node"}
	clientOrServer = roles{func(r role) bool { return r == client || r.isServer() }, "a client or a lock server"}
)

// checkRole reports an error if the run does not have a process p, or if p does not have any of the roles.
func (v *validator) checkRole(p sim.ProcessID, of roles) {
	r := v.known.role(p)
	switch {
	case r == unknown:
		v.failNear(string(p), "no process of this run is called "+string(p), v.known.closest(string(p), of.right))
	case !of.right(r):
		v.failWord(string(p), "expected "+of.what+", but "+string(p)+" is "+r.String())
	}
}

// linked reports an error if the two ends of the link never exchange messages.
func (v *validator) linked(f *Fault) {
	if !v.known.linked(f.Target, f.Peer) {
		v.failWord(string(f.Peer), string(f.Target)+" sends nothing to "+string(f.Peer))
	}
}

func (v *validator) failWord(word, msg string) { v.failNear(word, msg, "") }

// failNear reports an error at the last occurrence of word, because if a line names a process twice, the second one is
// wrong.
func (v *validator) failNear(word, msg, nearest string) {
	column := 1
	for _, t := range v.tokens {
		if t.text == word {
			column = t.column
		}
	}
	v.failAt(column, msg, nearest)
}
