package nemesis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

func init() {
	second := func(m Message) Message {
		m.Nth = 2
		return m
	}
	del := Message{Command: "DEL", Nth: 1}
	grammar = append(grammar,
		grammarLine{"delay the DEL of client-2 to redis-1 by 7s",
			Fault{Kind: DelayMessage, Target: "client-2", Peer: "redis-1", By: 7 * time.Second,
				Trigger: Trigger{Message: del}}},
		grammarLine{"delay the answer to the 2nd DEL of client-2 to redis-1 in attempt 3 by 7s",
			Fault{Kind: DelayMessage, Target: "redis-1", Peer: "client-2", By: 7 * time.Second,
				Trigger: Trigger{Message: Message{Command: "DEL", Nth: 2, Answer: true, Attempt: 3}}}},
		grammarLine{`delay the 2nd "release, redsync 4" of client-1 to redis-1 by 7s`,
			Fault{Kind: DelayMessage, Target: "client-1", Peer: "redis-1", By: 7 * time.Second,
				Trigger: Trigger{Message: Message{Command: "release, redsync 4", Nth: 2}}}},
		grammarLine{"break client-1 | redis-2 before the 2nd DEL",
			Fault{Kind: Break, Target: "client-1", Peer: "redis-2", Trigger: Trigger{Message: second(del)}}},
		grammarLine{"break client-1 | redis-2 before the answer to the DEL in attempt 2",
			Fault{Kind: Break, Target: "client-1", Peer: "redis-2",
				Trigger: Trigger{Message: Message{Command: "DEL", Nth: 1, Answer: true, Attempt: 2}}}},
		grammarLine{"cut client-1 | redis-2 after the answer to its DEL for 2s",
			Fault{Kind: Cut, Left: ids("client-1"), Right: ids("redis-2"), For: 2 * time.Second,
				Trigger: Trigger{Message: Message{Command: "DEL", Nth: 1, Answer: true}}}},
		grammarLine{"crash redis-2 losing everything at the 2nd DEL of client-1 to redis-1, restart after 1s",
			Fault{Kind: Crash, Target: "redis-2", Loss: LosesEverything, Restart: time.Second,
				Trigger: Trigger{SaidAt: true,
					Message: Message{Command: "DEL", Nth: 2, Of: "client-1", To: "redis-1"}}}})
	badGrammar = append(badGrammar,
		badLine{"delay the DEL by 7s", 15, `expected "of", found "by"`, ""},
		badLine{"delay the DEL of client-1 by 7s", 27, `expected "to", found "by"`, ""},
		badLine{"delay the answer to DEL of client-1 to redis-1 by 7s", 21, `expected "its" or "the", found "DEL"`, ""},
		badLine{"delay the 2rd DEL of client-1 to redis-1 by 7s", 11, `expected a rank such as 3rd, found "2rd"`, "2nd"},
		badLine{`delay the "release of client-1 to redis-1 by 7s`, 11,
			`expected a command such as DEL, or a script's name in quotes, found "\""`, ""},
		badLine{"break client-1 | redis-1 before its DEL", 33, `expected "reply" or "the", found "its"`, ""},
		badLine{"pause client-1 for 3s after the 2nd DEL", 40, `expected "of", found the end of the line`, ""},
		badLine{"pause client-1 for 3s after its DEL in try 2", 40, `expected "attempt", found "try"`, ""},
	)
}

// answerer is a server that answers every request with a status after 5 ms.
type answerer struct {
	host sim.Host
	kept []*sim.Incoming
}

func (a *answerer) Start(h sim.Host)      { a.host = h }
func (a *answerer) ClockChanged()         {}
func (a *answerer) Fault(sim.ServerFault) {}
func (a *answerer) Stop(sim.Stop)         { a.kept = nil }

func (a *answerer) Serve(r *sim.Incoming) {
	a.host.Record(history.Event{F: "served", Value: string(r.Client) + " " + strings.Join(r.Args, " ")})
	a.kept = append(a.kept, r)
	a.host.WakeAfter(5*time.Millisecond, 0)
}

func (a *answerer) Wake(uint64) {
	a.kept[0].Reply([]byte("+OK\r\n"))
	a.kept = a.kept[1:]
}

// asking runs two clients under the given faults. Each client sends SET, DEL and another DEL to redis-1 and then to
// redis-2. Each message takes 1 ms, and nothing is resent. asking returns what happened, and the messages that the plan
// refers to but that were not sent.
func asking(t *testing.T, lines ...string) (happened string, missed []Missed, err error) {
	t.Helper()
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}})
	names := Names{Clients: ids("client-1 client-2"), Redis: ids("redis-1 redis-2")}
	for _, id := range names.Redis {
		w.AddServer(id, &answerer{})
	}
	for i, id := range names.Clients {
		w.AddClient(id, sim.Time(i)*sim.Time(time.Second), func(env sim.Env) {
			for attempt, command := range []string{"SET", "DEL", "DEL"} {
				for _, server := range names.Redis {
					r := env.Call(10*time.Second, nil, sim.Request{Conn: sim.Conn{Server: server},
						Args: []string{command}, Attempt: history.Attempt(fmt.Sprintf("%s/%d", id, 1+attempt))})
					if r[0].Status == sim.Reset {
						env.Close(sim.Conn{Server: server})
					}
					env.Record(history.Event{Type: history.Info, F: "answered", Value: fmt.Sprint(command, " ", server,
						" ",
						r[0].Status)})
				}
			}
		})
	}
	var faults []Fault
	for _, line := range lines {
		f, err := ParseFor(line, names)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	installed := Install(w, names, faults)
	w.Run(history.Of(time.Minute), func() bool { return installed.Over() && !w.Busy() })
	var b strings.Builder
	for _, e := range w.Finish().Events {
		if strings.HasPrefix(string(e.Process), "client-2") || strings.Contains(e.Value, "client-2 ") &&
			e.Process != history.Nemesis {
			continue
		}
		fmt.Fprintf(&b, "%v %s %s\n", e.Time.Duration(), e.Process, e.Value)
	}
	missed, err = installed.Missed()
	return b.String(), missed, err
}

// A fault that refers to a message is triggered by that message and by no other.
func TestAFaultStrikesWithTheMessageThatItNames(t *testing.T) {
	calm, _, _ := asking(t)
	for _, c := range []struct{ line, want string }{
		{"delay the 2nd DEL of client-1 to redis-1 by 3s", "28ms nemesis"},
		{"delay the DEL of client-1 to redis-2 by 3s", "21ms nemesis"},
		{"delay the DEL of client-1 to redis-2 in attempt 3 by 3s", "35ms nemesis"},
		{"delay the answer to the 2nd DEL of client-1 to redis-1 by 3s", "34ms nemesis"},
		{"break client-1 | redis-1 before the 2nd DEL", "28ms nemesis"},
		{"break client-1 | redis-1 before the answer to the 2nd DEL", "34ms nemesis"},
		{"pause redis-2 for 1s at the 3rd DEL of client-1", "28ms nemesis"},
		{"pause redis-2 for 1s after the 3rd DEL of client-1", "29ms nemesis"},
		{"pause client-1 for 1s at the answer to its DEL to redis-2", "27ms nemesis"},
		{"pause client-1 for 1s after the answer to its DEL to redis-2", "28ms nemesis"},
		{"pause client-1 for 1s after the answer to its d…", "21ms nemesis"},
	} {
		got, missed, err := asking(t, c.line)
		if !strings.Contains(got, c.want+" "+c.line) || len(missed) > 0 || err != nil {
			t.Errorf("%s: missed %v, %v; want %s in\n%s\ncalm:\n%s", c.line, missed, err, c.want, got, calm)
		}
	}
}

// A pause after an answer begins before the client's next request leaves. A pause at that next request begins after the
// request has left.
func TestAPauseAfterAnAnswerHoldsTheNextRequest(t *testing.T) {
	for line, want := range map[string]string{ // client-1 receives the answer to its first DEL from redis-1 at 21 ms
		"pause client-1 for 10s after the answer to its DEL to redis-1":         "10.022s",
		"pause client-1 for 10s after the answer to its SET to redis-2":         "10.022s",
		"pause client-1 for 10s at its DEL to redis-2":                          "22ms",
		"pause client-2 for 10s after the answer to the DEL of client-1":        "22ms",
		"cut client-1 | redis-2 after the answer to its DEL to redis-1 for 10s": "22ms",
	} {
		got, missed, err := asking(t, line)
		_, first, _ := strings.Cut(got, want+" redis-2 client-1 DEL\n")
		if len(missed) > 0 || err != nil || strings.Count(first, " redis-2 client-1 DEL\n") != 1 {
			t.Errorf("%s: missed %v, %v; want the first DEL at redis-2 at %s:\n%s", line, missed, err, want, got)
		}
	}
}

// A lost request does not reach the server. If only the answer is lost, the server has received the request.
func TestALostMessageNeverArrives(t *testing.T) {
	for _, c := range []struct {
		line, command string
		served        int
	}{
		{"break client-1 | redis-1 before the SET", "SET", 0},
		{"break client-1 | redis-1 before the SET in attempt 1", "SET", 0},
		{"break client-1 | redis-1 before the answer to the SET", "SET", 1},
		{"break client-1 | redis-1 before the DEL in attempt 2", "DEL", 1},
		{"break client-1 | redis-1 before the 2nd DEL", "DEL", 1},
		{"break client-1 | redis-1 before the answer to the DEL", "DEL", 2},
	} {
		got, _, _ := asking(t, c.line)
		if n := strings.Count(got, "redis-1 client-1 "+c.command+"\n"); n != c.served ||
			strings.Count(got, fmt.Sprintf(" redis-1 %d\n", sim.Reset)) != 1 {
			t.Errorf("%s: redis-1 has served %d, want %d\n%s", c.line, n, c.served, got)
		}
	}
}

// If a fault refers to a message that is never sent, the message is reported together with the requests that were sent
// instead. A name that is the beginning of several commands is rejected with an error that lists them.
func TestAMessageThatNeverComesIsMissed(t *testing.T) {
	_, missed, err := asking(t, "delay the GET of client-1 to redis-1 by 1s",
		"pause redis-1 for 1s at the 7th DEL of client-2",
		"pause redis-1 for 1s at the 4th DEL of client-2")
	if want := "[{delay the GET of client-1 to redis-1 by 1s [1 SET to redis-1 1 SET to redis-2 2 DEL to redis-1 2 " +
		"DEL to " +
		"redis-2]} {pause redis-1 for 1s at the 7th DEL of client-2 [1 SET to redis-1 1 SET to redis-2 2 DEL to " +
		"redis-1 2 DEL " +
		"to redis-2]}]"; fmt.Sprint(missed) != want || err != nil {
		t.Errorf("%v, %v, want %s", missed, err, want)
	}
	_, _, err = asking(t, `pause redis-1 for 1s at the 3rd "…" of client-2`)
	var ambiguous *AmbiguousError
	if !errors.As(err, &ambiguous) || ambiguous.Fits != [2]string{"SET", "DEL"} {
		t.Error(err)
	}
}
