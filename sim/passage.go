package sim

import "github.com/fencepost-sim/fencepost/checker/history"

// Passage is the departure or the arrival of a client's request, or of the reply to one.
type Passage struct {
	// Request is the number of the request among those of all clients, from 1, in the order of their departure. A reply
	// has the number of its request.
	Request        uint64
	Client, Server ProcessID
	Attempt        history.Attempt // the attempt on whose behalf it is sent; empty if it does not concern a lock
	Command        string          // name of the request's command, as Options.Command returns it
	Answer         bool            // it is a reply
	Number         int             // on departure: number among the messages of its link, from 1; on arrival: 0
	At             Time
	Arrives        bool // it arrives; false: it departs
}

// Interference says what happens to a message that departs.
type Interference struct {
	Later Time // additional delay
	// Lost means that the message never arrives, and that the connection is reset instead. If it is a request, the
	// server does not see it. If it is a reply, the request has been carried out.
	Lost bool
}

// Inspect calls f with each request of clients and each reply to one, when it departs and when it arrives, before it
// has any effect. The result of f on arrival is ignored. If the server closes the connection instead of replying, there
// is no reply to inspect.
func (w *World) Inspect(f func(Passage) Interference) { w.inspect = append(w.inspect, f) }

// inspected asks the inspectors what happens to the message. number is its number on departure, and 0 on arrival.
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
