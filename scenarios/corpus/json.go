package corpus

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Described says what the commands print with --json.
var Described = []document.Described{
	{Commands: []string{"corpus"}, Object: corpusJSON{}, Is: "sound locks and broken variants of them"},
}

// corpusJSON states no times: equal runs give equal bytes.
type corpusJSON struct {
	document.Head
	First       uint64          `json:"first_seed"`
	Seeds       int             `json:"seeds"`
	Mutants     []mutantJSON    `json:"mutants"`
	Caught      int             `json:"caught"`
	MedianRuns  *int            `json:"median_runs,omitempty"` // of the mutants that were caught
	MostRuns    *int            `json:"most_runs,omitempty"`
	Sound       []soundLockJSON `json:"sound"`
	SoundRuns   *int            `json:"sound_runs,omitempty"`
	RateBelow   *float64        `json:"rate_below,omitempty"` // of broken promises per run of a sound lock; if none was
	Interrupted bool            `json:"interrupted" doc:"a signal came before everything was done"`
	Expected    bool            `json:"expected"`
}

type mutantJSON struct {
	Name     string   `json:"name"`
	Of       string   `json:"of"`
	Edits    []string `json:"edits"`
	Defect   string   `json:"defect"`
	Source   string   `json:"source"` // of the defect; empty: a wrong setting
	Scenario string   `json:"scenario"`
	Lost     string   `json:"lost,omitempty" doc:"why nobody searched it, if that was not for an interruption"`
	*searchJSON
	*breakJSON
}

// searchJSON is of a mutant whose search went to its end.
type searchJSON struct {
	Caught bool `json:"caught"`
	Runs   int  `json:"runs"`
}

// breakJSON is of a mutant that was caught.
type breakJSON struct {
	Law   checker.Law `json:"law"`
	Cause string      `json:"cause"`
}

type soundLockJSON struct {
	Name    string        `json:"name"`
	Promise []string      `json:"promise"`
	Runs    int           `json:"runs"`
	Broken  []promiseJSON `json:"broken"`
	Open    []string      `json:"open"`
}

type promiseJSON struct {
	Law    checker.Law `json:"law"`
	Cause  string      `json:"cause"`
	Runs   int         `json:"runs"`
	First  uint64      `json:"first_seed"`
	Repeat string      `json:"repeat" doc:"a command to paste that shows it again"`
}

// data is the JSON object.
func (c *Corpus) data() *corpusJSON {
	list := c.caught()
	d := &corpusJSON{First: c.First, Seeds: c.Seeds, Mutants: []mutantJSON{},
		Caught: len(list),
		Sound:  []soundLockJSON{}, Interrupted: c.Interrupted, Expected: c.Standing() == document.Passed}
	for i := range c.Mutants {
		d.Mutants = append(d.Mutants, mutantOf(&c.Mutants[i]))
	}
	if len(list) > 0 {
		middle, last := median(list, MutantResult.runs), list[len(list)-1]
		d.MedianRuns, d.MostRuns = &middle, &last.Search.Runs
	}
	for i := range c.Sound {
		d.Sound = append(d.Sound, soundLockOf(&c.Sound[i]))
	}
	if len(c.Sound) > 0 {
		runs := c.soundRuns()
		d.SoundRuns = &runs
		if !c.promiseBroken() {
			bound := campaign.UpperBound(runs)
			d.RateBelow = &bound
		}
	}
	return d
}

func mutantOf(m *MutantResult) mutantJSON {
	d := mutantJSON{Name: m.Name, Of: m.Of, Edits: document.Texts(m.Edits), Defect: m.Defect, Source: m.Source,
		Scenario: m.File, Lost: m.Lost}
	if m.searched() {
		d.searchJSON = &searchJSON{m.caught(), m.runs()}
	}
	if m.caught() {
		d.breakJSON = &breakJSON{m.Search.Law, m.Search.Cause.String()}
	}
	return d
}

func soundLockOf(l *LockResult) soundLockJSON {
	d := soundLockJSON{Name: l.Lock.Name, Promise: document.LawNames(l.Lock.Promise.Laws), Runs: l.Done(),
		Broken: []promiseJSON{}, Open: document.Some(l.open())}
	for _, b := range l.broken() {
		d.Broken = append(d.Broken, promiseJSON{b.Law, b.Cause.String(), b.Runs, b.First, l.repeat(b)})
	}
	return d
}
