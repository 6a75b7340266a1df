package nemesis

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Sent is a request that a client sent in a run, with its answer.
type Sent struct {
	Client, Server sim.ProcessID
	Command        string
	Nth            int             // position among the client's requests with this command to this server, from 1
	Attempt        history.Attempt // the attempt that sent the request; empty if no attempt at a lock did
	// Number is the position of the request among the messages of its link, from 1. AnswerNumber is the same for the
	// answer, or 0 if no answer left.
	Number, AnswerNumber int
	Left                 sim.Time
	// Arrived is the time when the request reached the server, Answered when the answer left, and Taken when the answer
	// reached the client. Each is zero if that never happened.
	Arrived, Answered, Taken sim.Time
}

// Strike returns f, a fault of one message (DelayMessage or Break), changed to strike this request or the answer to it.
func (s *Sent) Strike(f Fault, answer bool) Fault {
	f.Number, f.Target, f.Peer = 0, s.Client, s.Server
	if answer && f.Kind != Break {
		f.Target, f.Peer = s.Server, s.Client
	}
	f.Trigger.Message = s.Message(answer)
	f.Trigger.Message.Of, f.Trigger.Message.To = "", ""
	return f
}

// Message returns a name for the request, or for the answer to it.
func (s *Sent) Message(answer bool) Message {
	return Message{Command: s.Command, Nth: s.Nth, Of: s.Client, To: s.Server, Answer: answer}
}

// Named rewrites a fault that names its message by number so that it names the message by what it says. sent lists the
// requests of a run under that fault. ok is false if the fault does not name a message by number, or if the message is
// not in sent.
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

// Record returns a list to which it adds every request that clients of the world send from now until the world is
// reset. The list is in the order in which the requests left.
func Record(w *sim.World) *[]Sent {
	list := new([]Sent)
	var places []int // by number of the request: its place in list, from 1; 0 if it left before or no client sent it
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
