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

// state is the state of the connection between a client and one server.
type state struct {
	conn   *realtime.Conn
	client *client
	framed bool // whether one of Fencepost's own clients uses the connection, with framed replies
	sent   []request
	within bool // whether, since MULTI, a request has been sent whose reply names servers
	said   redisserver.Stream
	multi  bool         // whether MULTI has been sent and EXEC has not
	about  history.Lock // the lock whose key was named last; during a transaction, since MULTI

	// The fields below are used if the user's client is connected to the resource. Commands on such a connection are
	// carried out one by one.
	busy  bool
	last  sim.Time // when the last answer was sent; 0 before the first answer
	queue [][]string
	to    *access // the access whose reply is pending
}

// asked handles a request from the client.
func (s *state) asked(args []string) {
	report := strings.EqualFold(args[0], "FENCEPOST")
	switch {
	case report && s.client.stage.Command == "":
		s.ownCommand(args)
	case s.conn.Server != history.Resource && report:
		s.wrong("reports to " + string(s.conn.Server) + ": reports go to FENCEPOST_RESOURCE")
	case s.conn.Server != history.Resource:
		s.ask(args)
	case s.busy:
		if s.queue = append(s.queue, args); len(s.queue) > realtime.MostUnanswered {
			s.client.fails("floods the resource: it sends commands without waiting for the replies")
		}
	default:
		// the client waited for the last answer before sending this command, so it was still alive when the answer was
		// sent
		s.client.alive = max(s.client.alive, s.last)
		s.busy = true
		s.command(args)
	}
}

// ask sends a request from the user's client to a lock server. If the run must answer the request itself, ask sends a
// PING instead, and the run's answer later replaces the reply. This keeps the answer in its place among the server's
// replies. If the answer is an error, ask sends an unknown command instead of PING, so that the server aborts a
// transaction.
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

// answered records that a reply has arrived, and returns the request that it belongs to.
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

// received passes bytes from the server on to the client.
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
		s.client.afterPause(func() {
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

// attemptOf returns the attempt that made a request from the user's client. Usually this is the most recent attempt. It
// is an earlier attempt if three conditions are met: the request contains an owner value of that attempt, the server
// still has the key that the attempt set with this value, and the most recent attempt has not set the same value. So if
// a client uses one value for all attempts, a request about a later key is not attributed to an earlier attempt.
func (s *state) attemptOf(args []string) history.Attempt {
	k := s.client
	lock := s.lockOf(args)
	h := k.holds[lock]
	if h == nil {
		return ""
	}
	for _, o := range h.old {
		if slices.Contains(args[1:], o.value) && !slices.Contains(h.values, o.value) &&
			k.stage.stands(s.conn.Server, lock, o) {
			return o.of
		}
	}
	return h.attempt
}

// looks lists commands that may name several keys but do not change them.
var looks = []string{"EXISTS", "MGET", "TOUCH", "WATCH"}

// lockOf returns the lock that a request is about. This is the lock whose key the request names. If the request does
// not name a key, as with EXEC, lockOf returns the last lock named on the same connection or, if there is none, the
// last lock that the client requested.
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
			k.fails(fmt.Sprintf("names %s and %s in one command or transaction, "+
				"so it is unknown which lock's key was set: acquire one lock after the other", before, name))
		}
		before, s.about = name, name
	}
	return cmp.Or(s.about, k.latest)
}

// command carries out a command that the user's client has sent to the resource.
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

// answer answers the current command, and starts the next one in the queue.
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

// wrong rejects a report from the client with an error, and ends the run.
func (s *state) wrong(problem string) {
	s.conn.Send(sim.AppendLine(nil, '-', "ERR fencepost: "+problem))
	s.client.fails("reports something impossible: " + problem)
}

// smallTalk answers the commands that client libraries send when they connect.
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
