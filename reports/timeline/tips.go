package timeline

import (
	"fmt"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// tip describes an event in full: first in words, then with all its fields.
func (c *chart) tip(pos int) string {
	e := &c.lanes.history.Events[pos]
	lines := []string{c.describer.event(e), fmt.Sprintf("event %d at %s", e.Index, c.lanes.instant(e.Time))}
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	add("lock", string(e.Lock))
	add("attempt", string(e.Attempt))
	add("on behalf of", string(e.Of))
	if e.Token != 0 {
		add("token", fmt.Sprint(int64(e.Token)))
	}
	add("because", string(e.Why))
	lines = append(lines, c.grantLines(e.Grant)...)
	return strings.Join(lines, "\n")
}

func (c *chart) grantLines(g *history.Grant) []string {
	if g == nil {
		return nil
	}
	out := []string{"asked since: " + c.lanes.instant(g.Since), "granted: " + c.lanes.instant(g.Granted),
		"valid until: " + c.lanes.instant(g.Until)}
	if len(g.Counted) > 0 {
		out = append(out, "counted: "+processes(g.Counted))
	}
	return out
}

func (c *chart) sectionTip(lane *clientLane, s *section) string {
	lines := []string{fmt.Sprintf("%s in its critical section", lane.Process), c.stretch(s.span)}
	if s.Lock != "" {
		lines = append(lines, "lock: "+string(s.Lock))
	}
	lines = append(lines, "attempt: "+string(s.Attempt))
	if s.Token != 0 {
		lines = append(lines, fmt.Sprintf("token: %d", s.Token))
	}
	if s.First >= 0 && s.First < len(c.lanes.history.Events) {
		lines = append(lines, c.grantLines(c.lanes.history.Events[s.First].Grant)...)
	}
	switch s.Ended {
	case history.Release:
		lines = append(lines, "left by releasing")
	case history.Lost:
		lines = append(lines, "left after learning that the lock was lost")
	case history.Crashed:
		lines = append(lines, "ended by a crash")
	default:
		lines = append(lines, "still in the section when the recording ended")
	}
	return strings.Join(lines, "\n")
}

// stretch describes in words when a span begins and ends.
func (c *chart) stretch(s span) string {
	if s.Last == open && s.To > s.From {
		return fmt.Sprintf("from %s, and still active when the recording ended at %s", c.lanes.instant(s.From),
			c.lanes.instant(s.To))
	}
	if s.To == s.From {
		return "at " + c.lanes.instant(s.From)
	}
	return fmt.Sprintf("%s to %s (%s)", c.lanes.instant(s.From), c.lanes.instant(s.To), text.Lasting(s.To-s.From))
}
