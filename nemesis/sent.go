package nemesis

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Sent is a request of a client as a run shows it.
type Sent struct {
	Client, Server sim.ProcessID
	Command        string
	Nth            int             // of the client's requests with this command to this server, from 1
	Attempt        history.Attempt // on whose behalf it is; empty: on no lock's
	// Number is its own among the messages of its link, from 1; AnswerNumber that of its answer, 0 if none left.
	Number, AnswerNumber int
	Left                 sim.Time
	// Arrived is when it reached the server, Answered when the answer left, and Taken when that reached the client;
	// zero if it never did.
	Arrived, Answered, Taken sim.Time
}

// Strike is a fault of one message (DelayMessage, Break) that strikes the request, or the answer to it.
func (s *Sent) Strike(f Fault, answer bool) Fault {
	f.Number, f.Target, f.Peer = 0, s.Client, s.Server
	if answer && f.Kind != Break {
		f.Target, f.Peer = s.Server, s.Client
	}
	f.Trigger.Message = s.Message(answer)
	f.Trigger.Message.Of, f.Trigger.Message.To = "", ""
	return f
}

// Message names the request, or the answer to it.
func (s *Sent) Message(answer bool) Message {
	return Message{Command: s.Command, Nth: s.Nth, Of: s.Client, To: s.Server, Answer: answer}
}

// Named names the message of a fault that strikes with one by its number, as a run under it shows; ok is false if the
// fault is none of these, or if the run has no such message between a client and a server.
func Named(f Fault, sent []Sent) (named Fault, ok bool) {
	if f.Number == 0 {
		return f, false
	}
	client, server, answer := f.Target, f.Peer, f.Kind == Break
	if !IsClient(client) {
		client, server, answer = server, client, true
	}
	for i := range sent {
		s := &sent[i]
		if s.Client != client || s.Server != server || !answer && s.Number != f.Number || answer &&
			s.AnswerNumber != f.Number {
			continue
		}
		return s.Strike(f, answer), true
	}
	return f, false
}

// Record keeps what the clients of a world send from now on, until the world is reset: the requests in the order in
// which they left.
func Record(w *sim.World) *[]Sent {
	list := new([]Sent)
	var places []int // in the list, from 1, by requests; 0 of one that left before, or that is no client's
	var sent counts
	w.Inspect(func(p sim.Passage) (none sim.Interference) {
		if !IsClient(p.Client) {
			return none
		}
		for uint64(len(places)) <= p.Request {
			places = append(places, 0)
		}
		place := &places[p.Request]
		if *place == 0 {
			if !p.Answer && !p.Arrives {
				*list = append(*list, Sent{Client: p.Client, Server: p.Server, Command: p.Command, Nth: sent.add(&p),
					Attempt: p.Attempt, Number: p.Number, Left: p.At})
				*place = len(*list)
			}
			return none
		}
		switch s := &(*list)[*place-1]; {
		case !p.Answer && p.Arrives:
			s.Arrived = p.At
		case p.Answer && !p.Arrives:
			s.AnswerNumber, s.Answered = p.Number, p.At
		case p.Answer:
			s.Taken = p.At
		}
		return none
	})
	return list
}
