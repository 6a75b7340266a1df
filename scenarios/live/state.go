package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/scenarios/live/redisserver"
	"github.com/fencepost-sim/fencepost/sim"
)

// state is what a connection is about.
type state struct {
	conn   *realtime.Conn
	client *client
	framed bool // it carries requests of one of our own
	sent   []request
	within bool // since MULTI something was asked for whose reply names servers
	said   redisserver.Stream
	multi  bool         // between MULTI and EXEC
	about  history.Lock // whose key a request has last named, within MULTI if in one

	// Of a connection of the user's client to the resource, which carries out one command after another.
	busy  bool
	last  sim.Time // when the last answer was sent; 0 before the first
	queue [][]string
	to    *access // that the resource has been asked for
}

// asked decides what to do with a request.
func (s *state) asked(args []string) {
	report := strings.EqualFold(args[0], "FENCEPOST")
	switch {
	case report && s.client.stage.Command == "":
		s.own(args)
	case s.conn.Server != history.Resource && report:
		s.wrong("reports to " + string(s.conn.Server) + ": reports go to FENCEPOST_RESOURCE")
	case s.conn.Server != history.Resource:
		s.ask(args)
	case s.busy:
		if s.queue = append(s.queue, args); len(s.queue) > realtime.MostUnanswered {
			s.client.fails("floods the resource: it sends commands without waiting for their answers")
		}
	default:
		s.client.alive = max(s.client.alive, s.last) // it has waited for that answer
		s.busy = true
		s.command(args)
	}
}

// ask asks a lock server on behalf of the user's client. A reply of the run's own keeps its turn: it replaces the reply
// to a PING, or to a command that does not exist, for which the server aborts a transaction.
func (s *state) ask(args []string) {
	left, answer := s.conn.Login(args)
	if problem := tooLong(args); problem != "" {
		left, answer = nil, "-"+problem
		s.client.refused(s.conn.Server, args, []byte(answer))
	}
	if answer != "" {
		placeholder := "PING"
		if answer[0] == '-' {
			placeholder = "FENCEPOST"
		}
		s.sent = append(s.sent, request{left: s.client.stage.world.Now(), instead: answer + "\r\n"})
		s.conn.Forward([]string{placeholder}, "", strings.ToLower(placeholder))
		return
	}
	s.forward(left, s.attemptOf(left), strings.ToLower(left[0]))
}

func (s *state) forward(args []string, of history.Attempt, phase string) {
	s.sent = append(s.sent, request{left: s.client.stage.world.Now(), namesServers: s.namesServers(args), args: args})
	s.conn.Forward(args, of, phase)
}

// answered records a reply that has arrived, and returns the request.
func (s *state) answered(to *sim.Incoming) (sent request) {
	if to == nil || len(s.sent) == 0 {
		return request{}
	}
	sent = s.sent[0]
	s.sent = slices.Delete(s.sent, 0, 1)
	for _, h := range s.client.holds {
		if h.attempt == to.Attempt {
			h.answered(s.conn.Server, sent.left, s.client.stage.world.Now())
		}
	}
	return sent
}

// received passes bytes to the client.
func (s *state) received(b []byte, to *sim.Incoming) {
	sent := s.answered(to)
	s.client.refused(s.conn.Server, sent.args, b)
	switch {
	case s.framed && to == nil:
		s.conn.Send(realtime.AppendFrame(nil, realtime.FramePush, b))
	case s.framed:
		s.conn.Send(realtime.AppendFrame(nil, realtime.FrameReply, b))
	case s.to != nil:
		answer := sim.NewReply(slices.Clone(b))
		s.client.then(func() {
			if s.to != nil {
				s.accessed(answer)
			}
		})
	case sent.instead != "":
		s.conn.Send([]byte(sent.instead))
	default:
		s.conn.Send(s.translated(b, sent.namesServers))
	}
}

// attemptOf says on whose behalf the user's client asks a server: of an earlier attempt for the lock if the request
// contains one of its owner values, and a key with this value still exists there; otherwise of the latest.
func (s *state) attemptOf(args []string) history.Attempt {
	k := s.client
	lock := s.lockOf(args)
	h := k.holds[lock]
	if h == nil {
		return ""
	}
	for _, o := range h.old {
		if slices.Contains(args[1:], o.value) && !slices.Contains(h.values, o.value) &&
			k.stage.stands(s.conn.Server, lock, o.value) {
			return o.of
		}
	}
	return h.attempt
}

// looks are the commands that may name several keys and do not change them.
var looks = []string{"EXISTS", "MGET", "TOUCH", "WATCH"}

// lockOf is the lock of a request: the one whose key it names, or that was named before it on the same connection, as
// for EXEC; or otherwise the one asked for last.
func (s *state) lockOf(args []string) history.Lock {
	k := s.client
	switch strings.ToUpper(args[0]) {
	case "MULTI":
		s.multi, s.about = true, ""
	case "EXEC", "DISCARD":
		s.multi = false
	}
	before := s.about
	if !s.multi {
		before = ""
	}
	for _, a := range args[1:] {
		name := history.Lock(a)
		if !slices.Contains(k.locks, name) {
			continue
		}
		if before != "" && before != name && !slices.Contains(looks, strings.ToUpper(args[0])) {
			k.fails(fmt.Sprintf("names %s and %s in one command or transaction: whose key is set is then unknown "+
				"apart; take one lock after the other", before, name))
		}
		before, s.about = name, name
	}
	return cmp.Or(s.about, k.latest)
}

// command carries out a command of the user's client to the resource.
func (s *state) command(args []string) {
	left, answer := s.conn.Login(args)
	if problem := tooLong(args); problem != "" {
		answer = "-" + problem
	}
	if answer != "" {
		s.client.refused(history.Resource, args, []byte(answer))
		s.answer([]byte(answer + "\r\n"))
		return
	}
	args = left
	switch name := strings.ToUpper(args[0]); name {
	case "FENCEPOST":
		r, err := parseReport(args[1:])
		if err == nil {
			err = s.client.report(&r, s.ok)
		}
		if err != nil {
			s.wrong(err.Error())
		}
	case "READ", "WRITE":
		a, err := parseAccess(args)
		if err == nil {
			err = s.access(&a)
		}
		if err != nil {
			s.wrong(err.Error())
		}
	default:
		answer := smallTalk(name, args, s.conn.Number())
		s.client.refused(history.Resource, args, answer)
		s.answer(answer)
	}
}

func (s *state) ok() { s.answer([]byte("+OK\r\n")) }

// answer answers the present command, and goes on with the next.
func (s *state) answer(b []byte) {
	s.conn.Send(b)
	s.busy, s.last = false, s.client.stage.world.Now()
	if len(s.queue) > 0 && !s.busy {
		args := s.queue[0]
		s.queue = s.queue[1:]
		s.busy = true
		s.command(args)
	}
}

// wrong refuses a report of a client, and ends the run.
func (s *state) wrong(problem string) {
	s.conn.Send(sim.AppendLine(nil, '-', "ERR fencepost: "+problem))
	s.client.fails("reports what cannot be: " + problem)
}

// smallTalk answers what client libraries send when they connect.
func smallTalk(name string, args []string, conn uint64) []byte {
	switch name {
	case "PING":
		return []byte("+PONG\r\n")
	case "HELLO":
		proto := int64(2)
		b := sim.AppendArray(nil, 8)
		if len(args) > 1 && args[1] == "3" {
			proto, b = 3, []byte("%4\r\n")
		}
		b = sim.AppendBulk(sim.AppendBulk(b, "server"), "redis")
		b = sim.AppendBulk(sim.AppendBulk(b, "version"), "7.0.15")
		b = sim.AppendInt(sim.AppendBulk(b, "proto"), proto)
		return sim.AppendInt(sim.AppendBulk(b, "id"), int64(conn))
	case "INFO":
		return sim.AppendBulk(nil, "redis_version:7.0.15\r\nloading:0\r\n")
	case "CLIENT":
		if len(args) > 1 && strings.EqualFold(args[1], "ID") {
			return sim.AppendInt(nil, int64(conn))
		}
		return []byte("+OK\r\n")
	case "SELECT", "QUIT", "READONLY":
		return []byte("+OK\r\n")
	case "COMMAND":
		return sim.AppendArray(nil, 0)
	}
	return sim.AppendLine(nil, '-', "ERR fencepost: the resource knows FENCEPOST, READ and WRITE, not "+
		strconv.Quote(name))
}
