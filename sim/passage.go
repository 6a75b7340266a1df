package sim

import "github.com/fencepost-sim/fencepost/checker/history"

// Passage is a request of a client, or the answer to one, as it leaves or as it arrives.
type Passage struct {
	// Request numbers the requests of all clients, from 1, in the order in which they left. An answer has the number of
	// its request.
	Request        uint64
	Client, Server ProcessID
	Attempt        history.Attempt // on whose behalf it is; empty: on no lock's
	Command        string          // of the request, as Options.Command names it
	Answer         bool            // it is the answer
	Number         int             // of one that leaves: among the messages of its link, from 1
	At             Time
	Arrives        bool // it arrives; false: it leaves
}

// Interference is what becomes of a message that leaves.
type Interference struct {
	Later Time // how much later it arrives
	// Lost means that it never arrives: the connection is reset in its place. Of a request the server sees nothing; an
	// answer is lost after the request was carried out.
	Lost bool
}

// Inspect calls f with each request and answer of clients, as it leaves and as it arrives, before anything comes of it.
// What f returns for one that arrives has no effect. A connection that a server closes gives no answer to inspect.
func (w *World) Inspect(f func(Passage) Interference) { w.inspect = append(w.inspect, f) }

// inspected asks what becomes of the message, which leaves with a number, or arrives: it has none then.
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

// commandOf names what a request asks for.
func (w *World) commandOf(args []string) string {
	if w.opts.Command != nil {
		return w.opts.Command(args)
	}
	return args[0]
}
