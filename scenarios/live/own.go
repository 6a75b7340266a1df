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

// zeroVariable passes the world's time zero, as a time on the host's monotonic clock in ns, to a client of our own.
const zeroVariable = "FENCEPOST_ZERO"

// These commands are sent by a client of our own, on connections whose replies are framed.
const (
	toOpen   = "OWN"    // first on the connection for reports; the reply is a birth, as JSON
	toBegin  = "BEGIN"  // answered with the time at which the work begins, once all clients have sent it
	toPass   = "POINT"  // passing of a point
	toRecord = "RECORD" // an event, as JSON
	toAsk    = "FOR"    // an attempt, a phase, and a request that is sent on behalf of the attempt
)

// birth is what a client of our own must know at its start.
type birth struct {
	Scenario string // its text
	Seed     uint64
	Wall     int64 // wall clock at the world's time zero, in ns
	Servers  []sim.ProcessID
}

// record is a recorded event of a client of our own.
type record struct {
	Event history.Event
	Grant *grant `json:",omitempty"`
}

// grant is a sim.Grant with times instead of marks.
type grant struct {
	Since, Granted sim.Time
	Until          sim.Deadline
	Counted        []sim.ProcessID
}

// own carries out a report of a client of our own.
func (s *state) own(args []string) {
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
			k.then(s.acknowledge)
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

// recorded records an event on behalf of a client of our own.
func (k *client) recorded(r *record) {
	if r.Grant == nil {
		k.record(r.Event)
		return
	}
	w, g := k.stage.world, r.Grant
	granted := min(g.Granted, w.Now()) // the client's world may be ahead by the time that it took to set its clock
	k.recordGrant(r.Event, sim.Grant{Since: w.Mark(min(g.Since, granted)), Granted: w.Mark(granted), Until: g.Until,
		Counted: g.Counted})
}

// parseClock parses a notification to a client of our own about its clocks.
func parseClock(text string) (what string, n int64) {
	what, number, _ := strings.Cut(text, " ")
	n, _ = strconv.ParseInt(number, 10, 64)
	return what, n
}
