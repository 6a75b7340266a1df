package nemesis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
)

// Message identifies one of a client's requests, or the answer to it, by its content. Which message it matches in a run
// can depend on earlier faults. The zero Message does not identify any message.
type Message struct {
	// Command is the request's command, as the run's servers name it. It can be a word such as "DEL", a script's name
	// or first line, or the beginning of one of these followed by "…". In a line, a command that is not a single word
	// is written in quotes.
	Command string
	// Nth is the request's position among the matching requests, in the order in which they are sent. It is counted
	// from 1.
	Nth int
	// Of is the client that sends the request. An empty Of in a Trigger means the client that the fault itself names.
	Of sim.ProcessID
	// To is the server that receives the request. An empty To in a Trigger means any server.
	To sim.ProcessID
	// Attempt is the number of the client's attempt that sends the request, counted from 1; 0 means any attempt.
	Attempt int
	// Answer means that the Message identifies the answer to the request, not the request itself.
	Answer bool
}

// Named reports whether m identifies a message.
func (m *Message) Named() bool { return m.Command != "" }

// String prints the message as it appears in a trigger: "the 2nd DEL of client-2 to redis-1".
func (m Message) String() string { return strings.TrimPrefix(string(m.appendTo(nil)), " ") }

// appendTo prints the message, with its client and server if they are set.
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

// appendRequest prints the part of the message that identifies the request.
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

// quotedCommand puts a command in quotes, unless it is a single word that cannot be mistaken for another word in a
// line.
func quotedCommand(c string) string {
	if strings.ContainsAny(c, " \t,|") || strings.Contains(c, "->") || slices.Contains(messageWords, c) || isPoint(c) {
		return `"` + c + `"`
	}
	return c
}

// messageWords lists words that can appear next to a command. A command that equals one of them must be in quotes.
var messageWords = []string{"the", "its", "answer", "to", "of", "in", "attempt", "reply"}

// longestCommand is the maximum length of a command in bytes.
const longestCommand = 200

// isMessage reports whether the tokens after "at", "after" or "before" identify a message rather than a point.
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

// message parses "the answer to the 2nd DEL of client-2 to redis-1 in attempt 3", or "its DEL …".
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

// request parses the part of a message that identifies the request. own is true if the text does not name the client,
// which is then the fault's own client.
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

// command parses a command with or without quotes.
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

// plainerMessage tries two simpler descriptions of the message: one without the attempt and one without the server.
func plainerMessage(f *Fault, visit func(func(*Fault))) {
	if f.Trigger.Message.Attempt > 0 {
		visit(func(f *Fault) { f.Trigger.Message.Attempt = 0 })
	}
	if f.Trigger.Message.To != "" {
		visit(func(f *Fault) { f.Trigger.Message.To = "" })
	}
}

// oneMessage is the part of a line that identifies a message on a link. It contains either the message's number ("5 of
// client-1 -> redis-1") or its content ("the 2nd DEL of client-1 to redis-1").
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

// lostMessage is the part of a line that identifies the lost message after the line has already named the client and
// the server: "reply 5", "the answer to the 2nd DEL", "the 2nd DEL".
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
		m.Of = f.Target // makes appendRequest print "the" and not "its"; it does not print the name
		return m.appendAttempt(m.appendRequest(b))
	}, plainerMessage,
}

// passages watches a run for messages that faults refer to.
type passages struct {
	watched []*watched
	asked   counts // counts the requests of each client whose messages are watched
}

// Asked says how often a client sent a particular command to a server.
type Asked struct {
	Client, Server sim.ProcessID
	Command        string
	Times          int
}

// counts lists the number of requests for each combination of client, server and command, in the order in which the
// first request of each combination was sent.
type counts []Asked

// add counts a request. It returns the current number of requests with the same client, server and command.
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

// String returns, for example, "2 DEL to redis-1".
func (a Asked) String() string {
	return strconv.Itoa(a.Times) + " " + quotedCommand(a.Command) + " to " + string(a.Server)
}

// Missed reports that a message was never sent in the run although a fault refers to it.
type Missed struct {
	Line  string  // the line of the fault
	Asked []Asked // the requests that the fault's client did send
}

// AmbiguousError reports that a fault's description of a message matches requests with different commands.
type AmbiguousError struct {
	Line string // the line of the fault
	Name string
	Fits [2]string // two commands that match
}

// Error returns a message with the fault's line and two of the commands that match.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s: %q matches both %q and %q: write more of the one that you mean", e.Line, e.Name, e.Fits[0],
		e.Fits[1])
}

// watched is a message that a fault is waiting for.
type watched struct {
	Message
	line    string
	client  sim.ProcessID
	attempt string   // the attempt that must send it, such as client-1/3; empty if any may
	seen    int      // how many requests have matched so far
	request uint64   // number of the request, set when it leaves
	passed  bool     // the message has left already
	fits    []string // the different commands that have matched so far
	family  bool     // Command is a former name that stands for several commands
	strikes func(arrives bool) sim.Interference
}

// await arranges for onPassage to be called when the message leaves, and again when it arrives.
func (s *striker) await(m Message, client sim.ProcessID, onPassage func(arrives bool) sim.Interference) {
	family := false
	if now, renamed := s.names.Former[strings.ToUpper(m.Command)]; renamed {
		m.Command, family = now, strings.HasSuffix(now, "…")
	}
	w := &watched{Message: m, line: s.Fault.String(), client: client, strikes: onPassage, family: family}
	if m.Attempt > 0 {
		w.attempt = string(client) + "/" + strconv.Itoa(m.Attempt)
	}
	if s.watched == nil {
		s.w.Inspect(s.see)
	}
	s.watched = append(s.watched, w)
}

// NameMessages reports whether any of the faults identifies a message by its content.
func NameMessages(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Trigger.Message.Named() })
}

// Missed returns the messages that faults refer to but that have not been sent yet. Any error that it returns is an
// *AmbiguousError.
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

// awaitOwn waits for the message that the fault affects. When the message leaves, awaitOwn calls decide, which returns
// what happens to it.
func (s *striker) awaitOwn(decide func() sim.Interference) {
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
		return decide()
	})
}

// asks checks the sender and the receiver of a message that is identified by its content. One of them must be a client,
// and the other must be a process that answers clients.
func (v *validator) asks(f *Fault) {
	if !f.Trigger.Message.Named() {
		return
	}
	client, server := f.Target, f.Peer
	if IsClient(server) {
		client, server = server, client
	}
	v.checkRole(client, aClient)
	v.checkRole(server, answers)
}

// see is called whenever a message leaves or arrives. It returns how the faults triggered by the message interfere with
// it.
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

// concerns reports whether any fault is waiting for one of the client's messages.
func (p *passages) concerns(client sim.ProcessID) bool {
	return slices.ContainsFunc(p.watched, func(w *watched) bool { return w.client == client })
}

// fit reports whether a request matches the description in a fault.
func (w *watched) fit(m *sim.Passage) bool {
	switch {
	case w.To != "" && m.Server != w.To, w.attempt != "" && string(m.Attempt) != w.attempt:
		return false
	case !named(w.Command, m.Command):
		return false
	}
	if !w.family && !slices.Contains(w.fits, m.Command) {
		w.fits = append(w.fits, m.Command)
	}
	return true
}

// named reports whether a command matches a name, which may end in "…".
func named(name, command string) bool {
	if beginning, cut := strings.CutSuffix(name, "…"); cut {
		return len(command) >= len(beginning) && strings.EqualFold(command[:len(beginning)], beginning)
	}
	return strings.EqualFold(command, name)
}
