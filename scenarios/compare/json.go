package compare

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Described lists the JSON objects that the commands print with --json.
var Described = []document.Described{
	{Commands: []string{"compare"}, Object: compareJSON{},
		Is: "all protocols with the same work and under the same faults"},
	{Commands: []string{"odds"}, Object: oddsJSON{}, Is: "how likely Redlock is to admit two clients at once"},
}

type compareJSON struct {
	document.Head
	Seeds       int                `json:"seeds"` // number of runs for each cell
	Delay       string             `json:"delay"`
	Retry       string             `json:"retry"`
	Clients     int                `json:"clients"` // number of contending clients
	Model       []string           `json:"model"`
	Faults      []troubleJSON      `json:"faults"`
	Interrupted bool               `json:"interrupted" doc:"a signal ended the work early"`
	Locks       []comparedLockJSON `json:"locks"`
}

type troubleJSON struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

type comparedLockJSON struct {
	Name     string         `json:"name"`
	Title    string         `json:"title"`
	Text     string         `json:"text"`
	Article  articleJSON    `json:"article"`
	Alone    timingJSON     `json:"alone"`
	Together timingJSON     `json:"together"`
	Cells    []survivalJSON `json:"cells"`
}

// articleJSON contains the figures that the youngju.dev article gives for a lock (see Claim).
type articleJSON struct {
	Latency    string `json:"latency"`
	Throughput string `json:"throughput"`
}

// timingJSON contains the figures, each under its own key, and the scenario that produced them.
type timingJSON struct {
	values []float64
	writtenJSON
}

// Keys returns the keys for the figures, for use in the schema.
func (timingJSON) Keys() (all []document.Key) {
	for _, f := range figures {
		all = append(all, document.Key{Name: f.key, Decimal: f.decimal, Doc: cmp.Or(f.tip, f.group.Tip)})
	}
	return all
}

// MarshalJSON returns the figures in order, followed by the scenario.
func (t timingJSON) MarshalJSON() ([]byte, error) {
	rest, err := document.Encode(t.writtenJSON)
	if err != nil {
		return nil, err
	}
	object := []byte("{")
	for i, f := range figures {
		value, err := json.Marshal(t.values[i])
		if err != nil {
			return nil, err
		}
		object = fmt.Appendf(object, "%q:%s,", f.key, value)
	}
	return append(object, rest[1:]...), nil
}

// survivalJSON is the JSON form of a cell in the survival table. If the cell was not run, it contains only the fault
// and the reason.
type survivalJSON struct {
	Fault    string                          `json:"fault"`
	Fencing  bool                            `json:"fencing"`
	Absent   string                          `json:"absent" doc:"why the lock was not run; empty if it was run"`
	Survives *bool                           `json:"survives,omitempty"`
	Laws     map[checker.Law]campaign.Counts `json:"laws,omitempty"`
	*writtenJSON
}

// writtenJSON is the scenario that produced a figure.
type writtenJSON struct {
	Scenario string `json:"scenario"`
	Repeat   string `json:"repeat"` // shell command that runs the scenario
	File     string `json:"file"`   // the scenario's text
}

// data returns the report's JSON object.
func (r *Report) data() *compareJSON {
	d := &compareJSON{Seeds: r.Seeds, Delay: r.Delay, Retry: r.Retry, Clients: r.Clients, Model: r.Model,
		Faults: []troubleJSON{}, Interrupted: r.Interrupted, Locks: []comparedLockJSON{}}
	for _, t := range r.Troubles {
		d.Faults = append(d.Faults, troubleJSON{t.Name, t.Text})
	}
	for i := range r.Locks {
		l := &r.Locks[i]
		one := comparedLockJSON{l.Name, l.Title, l.Text, articleJSON(l.Claim), r.timing(&l.Alone),
			r.timing(&l.Together), []survivalJSON{}}
		for k := range l.Survival {
			one.Cells = append(one.Cells, r.survival(&l.Survival[k]))
		}
		d.Locks = append(d.Locks, one)
	}
	return d
}

func (r *Report) timing(t *Timing) timingJSON { return timingJSON{t.values, *r.written(t.Scenario)} }

func (r *Report) survival(s *Survival) survivalJSON {
	d := survivalJSON{Fault: s.Trouble, Fencing: s.Fencing, Absent: s.Absent}
	if s.Absent != "" {
		return d
	}
	survives := s.survives()
	d.Survives, d.Laws, d.writtenJSON = &survives, map[checker.Law]campaign.Counts{}, r.written(s.Scenario)
	for _, law := range comparedLaws {
		d.Laws[law] = s.Laws.Of(law)
	}
	return d
}

func (r *Report) written(s Written) *writtenJSON {
	file := s.Name + ".yaml"
	if r.Files != "" {
		file = r.Files + "/" + file
	}
	return &writtenJSON{s.Name, fmt.Sprintf("fencepost run %s --seeds %d", file, r.Seeds), s.Text}
}
