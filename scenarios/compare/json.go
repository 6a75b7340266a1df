package compare

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

type compareJSON struct {
	document.Head
	Seeds       int                `json:"seeds"` // runs behind each cell
	Delay       string             `json:"delay"`
	Retry       string             `json:"retry"`
	Clients     int                `json:"clients"` // that contend
	Model       []string           `json:"model"`
	Faults      []troubleJSON      `json:"faults"`
	Interrupted bool               `json:"interrupted"`
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

// articleJSON is what the documents claim.
type articleJSON struct {
	Latency    string `json:"latency"`
	Throughput string `json:"throughput"`
}

type timingJSON struct {
	Acquires        int     `json:"acquires"`
	First           int64   `json:"first_p50_ns"`
	P50             int64   `json:"p50_ns"`
	P99             int64   `json:"p99_ns"`
	CyclesPerSecond float64 `json:"cycles_per_second"`
	RequestsPerLock float64 `json:"requests_per_lock"`
	*writtenJSON
}

// survivalJSON is a cell; one that was not run has nothing beyond why.
type survivalJSON struct {
	Fault    string                          `json:"fault"`
	Fencing  bool                            `json:"fencing"`
	Absent   string                          `json:"absent"`
	Survives *bool                           `json:"survives,omitempty"`
	Laws     map[checker.Law]campaign.Counts `json:"laws,omitempty"`
	*writtenJSON
}

// writtenJSON is where a figure comes from.
type writtenJSON struct {
	Scenario string `json:"scenario"`
	Repeat   string `json:"repeat"` // command to paste
	File     string `json:"file"`   // its text
}

// JSON gives the comparison as one JSON object, ended by a newline.
func (c *Report) JSON(command string) ([]byte, error) {
	d := compareJSON{Head: document.HeadOf(command), Seeds: c.Seeds, Delay: c.Delay, Retry: c.Retry, Clients: c.Clients,
		Model: c.Model, Faults: []troubleJSON{}, Interrupted: c.Interrupted, Locks: []comparedLockJSON{}}
	for _, t := range c.Troubles {
		d.Faults = append(d.Faults, troubleJSON{t.Name, t.Text})
	}
	for i := range c.Locks {
		l := &c.Locks[i]
		one := comparedLockJSON{l.Name, l.Title, l.Text, articleJSON(l.Claim), c.timing(&l.Alone),
			c.timing(&l.Together), []survivalJSON{}}
		for k := range l.Survival {
			one.Cells = append(one.Cells, c.survival(&l.Survival[k]))
		}
		d.Locks = append(d.Locks, one)
	}
	return document.Encode(d)
}

func (c *Report) timing(t *Timing) timingJSON {
	return timingJSON{t.Acquires, t.First.Nanoseconds(), t.P50.Nanoseconds(), t.P99.Nanoseconds(), t.PerSecond,
		t.Requests, c.written(t.Scenario)}
}

func (c *Report) survival(s *Survival) survivalJSON {
	d := survivalJSON{Fault: s.Trouble, Fencing: s.Fencing, Absent: s.Absent}
	if s.Absent != "" {
		return d
	}
	survives := s.survives()
	d.Survives, d.Laws, d.writtenJSON = &survives, map[checker.Law]campaign.Counts{}, c.written(s.Scenario)
	for _, law := range comparedLaws {
		d.Laws[law] = s.Laws.Of(law)
	}
	return d
}

func (c *Report) written(s Written) *writtenJSON {
	file := s.Name + ".yaml"
	if c.Files != "" {
		file = c.Files + "/" + file
	}
	return &writtenJSON{s.Name, fmt.Sprintf("fencepost run %s --seeds %d", file, c.Seeds), s.Text}
}
