package sim

import "github.com/fencepost-sim/fencepost/checker/history"

// Passage describes a client's request, or the reply to one, as it departs or arrives.
type Passage struct {
	// Request is the request's number, counted from 1 across all clients, in order of departure. A reply has the same
	// number as its request.
	Request        uint64
	Client, Server ProcessID
	Attempt        history.Attempt // the attempt to which it belongs; empty if it does not concern a lock
	Command        string          // name of the request's command, as Options.Command returns it
	Answer         bool            // true for a reply, false for a request
	Number         int             // on departure: its number among the messages of the link, from 1; on arrival: 0
	At             Time
	Arrives        bool // true on arrival, false on departure
}

// Interference says what should happen to a departing message.
type Interference struct {
	Later Time // additional delay
	// Lost means that the message never arrives and the connection is reset. A lost request is not executed. If a reply
	// is lost, its request has already been executed.
	Lost bool
}

// Inspect calls f for each client request and each reply, both on departure and on arrival, before the message takes
// effect. On arrival, f's result is ignored. If the server closes the connection instead of replying, there is no reply
// to inspect.
func (w *World) Inspect(f func(Passage) Interference) { w.inspect = append(w.inspect, f) }

// inspected passes the message to the inspectors and returns their decision. number is the message's number on its link
// when it departs, and 0 when it arrives.
func (m *message) inspected(number int) (none Interference) {
	if len(m.w.inspect) == 0 {
		return none
	}
	return m.askInspectors(number)
}

func (m *message) askInspectors(number int) (sum Interference) {
	if m.request == 0 || m.state == toClient && m.reply.Status != Answered {
		return sum
	}
	if m.state == toServer && number > 0 {
		m.command = m.w.commandOf(m.in.Args)
	}
	p := Passage{Request: m.request, Client: m.c.client.id, Server: m.c.server.id, Attempt: m.in.Attempt,
		Command: m.command, Answer: m.state == toClient, Arrives: number == 0, Number: number, At: m.w.now}
	for _, f := range m.w.inspect {
		act := f(p)
		sum.Later, sum.Lost = sum.Later+act.Later, sum.Lost || act.Lost
	}
	return sum
}

// commandOf returns the name of a request's command.
func (w *World) commandOf(args []string) string {
	if w.opts.Command != nil {
		return w.opts.Command(args)
	}
	return args[0]
}
