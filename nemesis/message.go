package nemesis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
)

// Message names one request of a client, or the answer to it, by what it asks for. Which it is depends on the run: a
// fault that strikes earlier may change it. The zero Message names none.
type Message struct {
	// Command is the command of the request as the run's servers name it: "DEL", or a script by its name or its first
	// line, or by the beginning of one with "…" in place of the rest. Where it is no single word it is in quotes.
	Command string
	// Nth counts, from 1, the requests that fit, in the order in which they leave.
	Nth int
	// Of is the client. In a Trigger it may be empty: the client that the fault itself names.
	Of sim.ProcessID
	// To is the server. In a Trigger it may be empty: any.
	To sim.ProcessID
	// Attempt is the client's attempt, from 1, on whose behalf it is; 0: any, or none.
	Attempt int
	// Answer means the answer to the request, not the request itself.
	Answer bool
}

// Named reports whether there is a message.
func (m *Message) Named() bool { return m.Command != "" }

// String prints the message as a trigger names it: "the 2nd DEL of client-2 to redis-1".
func (m Message) String() string { return strings.TrimPrefix(string(m.appendTo(nil)), " ") }

// appendTo prints a message with its ends, as far as they are named.
func (m *Message) appendTo(b []byte) []byte {
	b = m.appendRequest(b)
	if m.Of != "" {
		b = appendProcess(append(b, " of"...), m.Of)
	}
	if m.To != "" {
		b = appendProcess(append(b, " to"...), m.To)
	}
	return m.appendAttempt(b)
}

// appendRequest prints which request of its client it is.
func (m *Message) appendRequest(b []byte) []byte {
	if m.Answer {
		b = append(b, " the answer to"...)
	}
	if m.Of == "" {
		b = append(b, " its"...)
	} else {
		b = append(b, " the"...)
	}
	if m.Nth > 1 {
		b = append(append(b, ' '), ordinal(m.Nth)...)
	}
	return append(append(b, ' '), quotedCommand(m.Command)...)
}

func (m *Message) appendAttempt(b []byte) []byte {
	if m.Attempt > 0 {
		b = strconv.AppendInt(append(b, " in attempt "...), int64(m.Attempt), 10)
	}
	return b
}

// quotedCommand puts a command that is no single word in quotes.
func quotedCommand(c string) string {
	if strings.ContainsAny(c, " \t,|") || strings.Contains(c, "->") || slices.Contains(messageWords, c) || isPoint(c) {
		return `"` + c + `"`
	}
	return c
}

// messageWords are those that stand around a command.
var messageWords = []string{"the", "its", "answer", "to", "of", "in", "attempt", "reply"}

// longestCommand bounds the command of a message, in bytes.
const longestCommand = 200

// isMessage reports whether a message comes next, after "at", "after" or "before", and not a point.
func (p *parser) isMessage() bool {
	i := p.next
	word := func() string {
		if i < len(p.tokens) {
			return p.tokens[i].text
		}
		return ""
	}
	if word() == "its" {
		return true
	}
	if word() != "the" {
		return false
	}
	if i++; strings.HasSuffix(word(), "st") || strings.HasSuffix(word(), "nd") || strings.HasSuffix(word(), "rd") ||
		strings.HasSuffix(word(), "th") {
		i++
	}
	command := word()
	i++
	return command != "" && (command == "answer" || command[0] == '"' || command[0] >= 'A' && command[0] <= 'Z' ||
		word() == "of" && !isPoint(command))
}

// message reads "the answer to the 2nd DEL of client-2 to redis-1 in attempt 3", or "its DEL …".
func (p *parser) message() (m Message) {
	own := p.request(&m)
	if p.err == nil && !own {
		p.require([]string{"of"})
		m.Of = p.process()
	}
	if p.err == nil && p.accept("to") {
		m.To = p.process()
	}
	if p.err == nil && m.To != "" || p.peek() == "in" {
		p.attempt(&m)
	}
	return m
}

// request reads which request of its client it is. own reports that it is that of the client which the fault names.
func (p *parser) request(m *Message) (own bool) {
	if p.next+1 < len(p.tokens) && p.peek() == "the" && p.tokens[p.next+1].text == "answer" {
		p.require([]string{"the", "answer", "to"})
		m.Answer = true
	}
	if own = p.accept("its"); !own && !p.accept("the") {
		p.unexpected()
		return own
	}
	m.Nth = 1
	if c := p.peek(); c != "" && c[0] >= '0' && c[0] <= '9' {
		m.Nth = p.ordinal()
	}
	m.Command = p.command()
	return own
}

// command reads a command, in quotes or not.
func (p *parser) command() string {
	text := p.peek()
	c := strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
	if p.err != nil || c == "" || len(c) > longestCommand || text == c && (slices.Contains(messageWords, c) ||
		isPoint(c)) {
		p.expect("a command such as DEL, or a script's name in quotes")
		p.unexpected()
		return ""
	}
	p.advance()
	return c
}

func (p *parser) attempt(m *Message) {
	if p.err == nil && p.accept("in") {
		p.require([]string{"attempt"})
		if p.err == nil {
			m.Attempt = p.number()
		}
	}
}

// plainerMessage names the message without its attempt, or its server.
func plainerMessage(f *Fault, try func(func(*Fault))) {
	if f.Trigger.Message.Attempt > 0 {
		try(func(f *Fault) { f.Trigger.Message.Attempt = 0 })
	}
	if f.Trigger.Message.To != "" {
		try(func(f *Fault) { f.Trigger.Message.To = "" })
	}
}

// oneMessage is a message of a link: by its number, "5 of client-1 -> redis-1", or by what it says, "the 2nd DEL of
// client-1 to redis-1".
var oneMessage = part{" NUMBER of PROCESS -> PROCESS", FieldNumber | FieldTarget | FieldPeer | FieldMessage,
	parseOneMessage, printOneMessage, plainerMessage}

func parseOneMessage(p *parser, f *Fault) {
	if p.peek() != "the" {
		f.Number = p.number()
		p.require([]string{"of"})
		if p.err == nil {
			f.Target = p.process()
		}
		if p.require([]string{"->"}); p.err == nil {
			f.Peer = p.process()
		}
		return
	}
	m := p.message()
	if p.err == nil && m.To == "" {
		p.unexpected()
	}
	f.Target, f.Peer = m.Of, m.To
	if m.Answer {
		f.Target, f.Peer = m.To, m.Of
	}
	m.Of, m.To = "", ""
	f.Trigger.Message = m
}

func printOneMessage(b []byte, f *Fault) []byte {
	if !f.Trigger.Message.Named() {
		b = append(strconv.AppendInt(append(b, ' '), int64(f.Number), 10), " of"...)
		return appendProcess(append(appendProcess(b, f.Target), " ->"...), f.Peer)
	}
	m := f.Trigger.Message
	if m.Of, m.To = f.Target, f.Peer; m.Answer {
		m.Of, m.To = f.Peer, f.Target
	}
	return m.appendTo(b)
}

// lostMessage is a message between the client and the server that a fault names before it: "reply 5", "the answer to
// the 2nd DEL", "the 2nd DEL".
var lostMessage = part{" reply NUMBER", FieldNumber | FieldMessage,
	func(p *parser, f *Fault) {
		if p.accept("reply") {
			f.Number = p.number()
			return
		}
		if p.peek() != "the" {
			p.accept("the")
			p.unexpected()
			return
		}
		p.request(&f.Trigger.Message)
		p.attempt(&f.Trigger.Message)
	},
	func(b []byte, f *Fault) []byte {
		if !f.Trigger.Message.Named() {
			return strconv.AppendInt(append(b, " reply "...), int64(f.Number), 10)
		}
		m := f.Trigger.Message
		m.Of = f.Target // it is not its own
		return m.appendAttempt(m.appendRequest(b))
	}, plainerMessage,
}

// passages follows the messages that the faults of a run name.
type passages struct {
	watched []*watched
	asked   counts // by the clients of these
}

// Asked counts the requests with one command of one client to one server.
type Asked struct {
	Client, Server sim.ProcessID
	Command        string
	Times          int
}

// counts are in the order in which their requests first came.
type counts []Asked

// add counts a request, and returns how many of its kind there are now.
func (c *counts) add(m *sim.Passage) int {
	for i := range *c {
		if a := &(*c)[i]; a.Command == m.Command && a.Server == m.Server && a.Client == m.Client {
			a.Times++
			return a.Times
		}
	}
	*c = append(*c, Asked{m.Client, m.Server, m.Command, 1})
	return 1
}

// String gives "2 DEL to redis-1".
func (a Asked) String() string {
	return strconv.Itoa(a.Times) + " " + quotedCommand(a.Command) + " to " + string(a.Server)
}

// Missed is a message that a fault names, and that never came.
type Missed struct {
	Line  string  // of the fault
	Asked []Asked // what its client did ask for
}

// AmbiguousError reports a name that fits requests with different commands.
type AmbiguousError struct {
	Line string // of the fault
	Name string
	Fits [2]string // commands
}

// Error quotes the line, and names the choices.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s: %q fits %q and %q: write more of the one that is meant", e.Line, e.Name, e.Fits[0],
		e.Fits[1])
}

// watched is a message that a fault waits for.
type watched struct {
	Message
	line    string
	client  sim.ProcessID
	attempt string   // of the client, if one is named
	seen    int      // requests that fit, so far
	request uint64   // the one that is meant, once it has left
	passed  bool     // it has left
	fits    []string // commands that the name fits, none twice
	strikes func(arrives bool) sim.Interference
}

// await arranges for strikes to be called as the message leaves and as it arrives.
func (s *striker) await(m Message, client sim.ProcessID, strikes func(arrives bool) sim.Interference) {
	w := &watched{Message: m, line: s.Fault.String(), client: client, strikes: strikes}
	if m.Attempt > 0 {
		w.attempt = string(client) + "/" + strconv.Itoa(m.Attempt)
	}
	if s.watched == nil {
		s.w.Inspect(s.see)
	}
	s.watched = append(s.watched, w)
}

// NameMessages reports whether some of the faults name a message by what it says.
func NameMessages(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Trigger.Message.Named() })
}

// Missed lists the messages that faults name and that never came so far. The error is an *AmbiguousError.
func (n *Installed) Missed() (all []Missed, err error) {
	for _, w := range n.watched {
		if len(w.fits) > 1 {
			return nil, &AmbiguousError{w.line, w.Command, [2]string(w.fits)}
		}
		if w.passed {
			continue
		}
		m := Missed{Line: w.line}
		for _, a := range n.asked {
			if a.Client == w.client {
				m.Asked = append(m.Asked, a)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// awaitOwn arranges for what becomes of the message that the fault itself names as it leaves.
func (s *striker) awaitOwn(becomes func() sim.Interference) {
	client := s.Target
	if !IsClient(client) {
		client = s.Peer
	}
	m := s.Trigger.Message
	m.To = s.Peer
	if client == s.Peer {
		m.To = s.Target
	}
	s.await(m, client, func(arrives bool) (none sim.Interference) {
		if arrives {
			return none
		}
		return becomes()
	})
}

// asks checks that a message that the fault names is one between a client and what answers it.
func (v *validator) asks(f *Fault) {
	if !f.Trigger.Message.Named() {
		return
	}
	client, server := f.Target, f.Peer
	if IsClient(server) {
		client, server = server, client
	}
	v.is(client, aClient)
	v.is(server, answers)
}

// see finds the messages that are waited for among those that pass.
func (p *passages) see(m sim.Passage) (sum sim.Interference) {
	if !p.concerns(m.Client) {
		return sum
	}
	if !m.Answer && !m.Arrives {
		p.asked.add(&m)
	}
	for _, w := range p.watched {
		if m.Client != w.client {
			continue
		}
		if !m.Answer && !m.Arrives && w.fit(&m) {
			if w.seen++; w.seen == w.Nth {
				w.request = m.Request
			}
		}
		if m.Request == w.request && m.Answer == w.Answer {
			w.passed = true
			act := w.strikes(m.Arrives)
			sum.Later, sum.Lost = sum.Later+act.Later, sum.Lost || act.Lost
		}
	}
	return sum
}

// concerns reports whether some fault names a message of the client.
func (p *passages) concerns(client sim.ProcessID) bool {
	return slices.ContainsFunc(p.watched, func(w *watched) bool { return w.client == client })
}

// fit reports whether the request is one of those that the name means.
func (w *watched) fit(m *sim.Passage) bool {
	switch {
	case w.To != "" && m.Server != w.To, w.attempt != "" && string(m.Attempt) != w.attempt:
		return false
	case !named(w.Command, m.Command):
		return false
	}
	if !slices.Contains(w.fits, m.Command) {
		w.fits = append(w.fits, m.Command)
	}
	return true
}

// named reports whether a name means a command.
func named(name, command string) bool {
	if beginning, cut := strings.CutSuffix(name, "…"); cut {
		return len(command) >= len(beginning) && strings.EqualFold(command[:len(beginning)], beginning)
	}
	return strings.EqualFold(command, name)
}
