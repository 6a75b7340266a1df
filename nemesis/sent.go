package nemesis

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Sent is a request that a client has sent, and its answer.
type Sent struct {
	Client, Server sim.ProcessID
	Command        string
	Nth            int             // position, from 1, among the client's requests with this command to this server
	Attempt        history.Attempt // the attempt that sent the request; empty if it does not concern a lock
	// Number is the position of the request among the messages on its link, counting from 1. AnswerNumber is the
	// position of the answer, or 0 if no answer was sent.
	Number, AnswerNumber int
	Left                 sim.Time
	// Arrived is when the request reached the server, Answered is when the answer left the server, and Taken is when
	// the answer reached the client. Each is zero if that did not happen.
	Arrived, Answered, Taken sim.Time
}

// Strike returns a copy of f that affects this request, or the answer to it. f must be a fault that affects one message
// (DelayMessage or Break).
func (s *Sent) Strike(f Fault, answer bool) Fault {
	f.Number, f.Target, f.Peer = 0, s.Client, s.Server
	if answer && f.Kind != Break {
		f.Target, f.Peer = s.Server, s.Client
	}
	f.Trigger.Message = s.Message(answer)
	f.Trigger.Message.Of, f.Trigger.Message.To = "", ""
	return f
}

// Message returns a description of the request, or of its answer.
func (s *Sent) Message(answer bool) Message {
	return Message{Command: s.Command, Nth: s.Nth, Of: s.Client, To: s.Server, Answer: answer}
}

// Named rewrites a fault so that it identifies its message by content rather than by number. sent lists the requests of
// a run with that fault. ok is false if the fault does not identify a message by number, or if sent does not contain
// the message.
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

// Record returns a list that grows with every request that a client sends, until the world is reset. The requests are
// in the order in which they were sent.
func Record(w *sim.World) *[]Sent {
	list := new([]Sent)
	var places []int // positions in list, counted from 1, by the number of the request; 0 if the request is not in list
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
