package nemesis

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Sent is a request of a client as a run shows it.
type Sent struct {
	Client, Server sim.ProcessID
	Command        string
	Nth            int // of the client's requests with this command to this server, from 1
	Attempt        int // of the client, on whose behalf it is, from 1; 0: none
	// Number is its own among the messages of its link, from 1; AnswerNumber that of its answer, 0 if none left.
	Number, AnswerNumber int
	// When it and its answer left and arrived; never if it did not.
	Left, Arrived, Answered, Returned sim.Time
}

// On is the attempt on whose behalf it is.
func (s *Sent) On() history.Attempt {
	return history.Attempt(string(s.Client) + "/" + strconv.Itoa(s.Attempt))
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

// never is when what does not happen happens.
const never sim.Time = -1

// Record keeps what the clients of a world send from now on, until the world is reset: the requests in the order in
// which they left.
func Record(w *sim.World) *[]Sent {
	list := new([]Sent)
	at := map[uint64]int{} // places in the list, by requests
	sent := map[Asked]int{}
	w.Inspect(func(p sim.Passage) (none sim.Interference) {
		if !IsClient(p.Client) {
			return none
		}
		i, known := at[p.Request]
		switch {
		case !known && !p.Answer && !p.Arrives:
			at[p.Request] = len(*list)
			s := Sent{Client: p.Client, Server: p.Server, Command: p.Command, Number: p.Number, Left: p.At,
				Arrived: never, Answered: never, Returned: never}
			_, attempt, _ := strings.Cut(string(p.Attempt), "/")
			s.Attempt, _ = strconv.Atoi(attempt)
			same := Asked{Client: s.Client, Server: s.Server, Command: s.Command}
			sent[same]++
			s.Nth = sent[same]
			*list = append(*list, s)
		case !known:
		case p.Answer && p.Arrives:
			(*list)[i].Returned = p.At
		case p.Answer:
			(*list)[i].Answered, (*list)[i].AnswerNumber = p.At, p.Number
		case p.Arrives:
			(*list)[i].Arrived = p.At
		}
		return none
	})
	return list
}
