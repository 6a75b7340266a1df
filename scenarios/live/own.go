package live

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

// zeroVariable is the environment variable that tells Fencepost's own clients when the world's time is zero, in ns on
// the host's monotonic clock.
const zeroVariable = "FENCEPOST_ZERO"

// Fencepost's own clients send these commands, on connections with framed replies.
const (
	toOpen   = "OWN"    // the first command on the connection for reports; the reply is a birth, as JSON
	toBegin  = "BEGIN"  // once all clients have sent it, the reply is the time at which the work begins
	toPass   = "POINT"  // the client has passed a point
	toRecord = "RECORD" // the client has recorded an event, as JSON
	toAsk    = "FOR"    // followed by an attempt, a phase, and a request that the client sends as part of the attempt
)

// birth is the information that one of Fencepost's own clients needs when it starts.
type birth struct {
	Scenario string // the text of the scenario
	Seed     uint64
	Wall     int64 // wall clock at the world's time zero, in ns
	Servers  []sim.ProcessID
}

// record is an event recorded by one of Fencepost's own clients.
type record struct {
	Event history.Event
	Grant *grant `json:",omitempty"`
}

// grant is a sim.Grant as a client reports it. It contains times instead of marks, because a sim.Mark cannot be
// encoded.
type grant struct {
	Since, Granted sim.Time
	Until          sim.Deadline
	Counted        []sim.ProcessID
}

// ownCommand carries out a command from one of Fencepost's own clients.
func (s *state) ownCommand(args []string) {
	s.framed = true
	k, st := s.client, s.client.stage
	what := ""
	if len(args) > 1 {
		what = args[1]
	}
	switch {
	case what == toAsk && len(args) > 4:
		s.forward(args[4:], history.Attempt(args[2]), args[3])
	case what == toOpen:
		k.control = s
		text, err := json.Marshal(birth{string(st.Scenario.Text()), st.seed, st.clock.Begin().UnixNano(),
			st.servers})
		if err != nil {
			st.loop.Fail(err)
		}
		s.reply(text)
	case what == toBegin:
		k.first = func() {}
	case what == toPass && len(args) == 3:
		k.pass(sim.Point(args[2]), s.acknowledge)
	case what == toRecord && len(args) == 3:
		var r record
		if err := json.Unmarshal([]byte(args[2]), &r); err != nil {
			st.loop.Fail(fmt.Errorf("%s: %w", k.id, err))
			return
		}
		record := func() {
			k.recorded(&r)
			k.afterPause(s.acknowledge)
		}
		if !k.begun {
			k.begun = true
			k.inTurn(record)
			return
		}
		record()
	default:
		st.loop.Fail(fmt.Errorf("%s sent %q, which none of Fencepost's own clients sends", k.id, args))
	}
}

func (s *state) acknowledge() { s.reply(nil) }

func (s *state) reply(what []byte) { s.conn.Send(realtime.AppendFrame(nil, realtime.FrameReply, what)) }

// recorded adds to the history an event that one of Fencepost's own clients has reported.
func (k *client) recorded(r *record) {
	if r.Grant == nil {
		k.record(r.Event)
		return
	}
	w, g := k.stage.world, r.Grant
	// the clock of the client's world may be slightly ahead, because setting the clock took time
	granted := min(g.Granted, w.Now())
	k.recordGrant(r.Event, sim.Grant{Since: w.Mark(min(g.Since, granted)), Granted: w.Mark(granted), Until: g.Until,
		Counted: g.Counted})
}

// parseClock parses a notification about the clocks of one of Fencepost's own clients.
func parseClock(text string) (what string, n int64) {
	what, number, _ := strings.Cut(text, " ")
	n, _ = strconv.ParseInt(number, 10, 64)
	return what, n
}
