package corpus

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Described lists the JSON objects that this package prints with --json.
var Described = []document.Described{
	{Commands: []string{"corpus"}, Object: corpusJSON{}, Is: "sound locks and broken variants of them"},
}

// corpusJSON does not contain times of day or durations, so identical runs produce identical bytes.
type corpusJSON struct {
	document.Head
	First      uint64          `json:"first_seed"`
	Seeds      int             `json:"seeds"`
	Starts     int             `json:"starts" doc:"number of searches of each mutant, which start from seeds that are far apart"`
	Mutants    []mutantJSON    `json:"mutants"`
	Caught     int             `json:"caught"`
	MedianRuns *int            `json:"median_runs,omitempty"` // median over the mutants that were caught
	MostRuns   *int            `json:"most_runs,omitempty"`
	Slowest    []rareJSON      `json:"slowest,omitempty" doc:"why these mutants are seldom caught; present only if there are several searches"`
	Sound      []soundLockJSON `json:"sound"`
	SoundRuns  *int            `json:"sound_runs,omitempty"`
	// RateBelow is an upper bound on the rate of broken promises per run with purely random faults. It is set if no
	// promise was broken.
	RateBelow   *float64 `json:"rate_below,omitempty"`
	Interrupted bool     `json:"interrupted" doc:"a signal ended the work early"`
	Expected    bool     `json:"expected"`
}

type mutantJSON struct {
	Name     string   `json:"name"`
	Of       string   `json:"of"`
	Edits    []string `json:"edits"`
	Defect   string   `json:"defect"`
	Source   string   `json:"source"` // source of the defect; empty if it is a wrong setting
	Scenario string   `json:"scenario"`
	Lost     string   `json:"lost,omitempty" doc:"why the mutant was not searched, unless an interruption was the reason"`
	*searchJSON
	*breakJSON
	Estimate *estimateJSON `json:"estimate,omitempty" doc:"estimated from all searches, if there are several"`
	Unaimed  *estimateJSON `json:"unaimed,omitempty" doc:"estimate from equally many searches with purely random faults"`
}

// estimateJSON is an estimate of the mean number of runs it takes to catch a mutant.
type estimateJSON struct {
	Searches int      `json:"searches"`
	Caught   int      `json:"caught" doc:"searches that caught the mutant; the others ended at their limit"`
	Runs     int      `json:"runs" doc:"runs of all these searches"`
	Mean     *float64 `json:"mean,omitempty" doc:"mean number of runs until the mutant is caught; absent if no search caught it"`
	Low      float64  `json:"low" doc:"lower end of the mean's 90% interval"`
	High     *float64 `json:"high,omitempty" doc:"upper end of that interval; absent if no search caught it"`
}

func estimateData(list []*search.FirstViolation) *estimateJSON {
	e := estimated(list)
	low, high := e.bounds()
	d := &estimateJSON{Searches: e.Searches, Caught: e.Caught, Runs: e.Runs, Low: low}
	if e.Caught > 0 {
		mean := e.average()
		d.Mean, d.High = &mean, &high
	}
	return d
}

type rareJSON struct {
	Mutant string       `json:"mutant"`
	Law    checker.Law  `json:"law"`
	Cause  string       `json:"cause"`
	Seed   uint64       `json:"seed" doc:"seed of the run of the smallest plan"`
	Often  int          `json:"often" doc:"how many of 16 other seeds break the promise under the same faults"`
	Faults []struckJSON `json:"faults" doc:"faults of the smallest plan"`
}

type struckJSON struct {
	Fault  string    `json:"fault"`
	Places triesJSON `json:"places" doc:"the fault strikes at other times or, if it strikes a single message, at other messages"`
	Drawn  triesJSON `json:"drawn" doc:"random faults of the same kind strike instead"`
}

type triesJSON struct {
	Tried int `json:"tried"`
	Broke int `json:"broke" doc:"attempts that broke the same promise"`
}

func rareOf(r *Rare) rareJSON {
	d := rareJSON{Mutant: r.Mutant, Law: r.Law, Cause: r.Cause.String(), Seed: r.Plan.Seed, Often: r.Often,
		Faults: []struckJSON{}}
	for _, s := range r.Struck {
		d.Faults = append(d.Faults, struckJSON{s.Fault.String(), triesJSON(s.Places), triesJSON(s.Drawn)})
	}
	return d
}

// searchJSON is the result for a mutant whose searches were all completed.
type searchJSON struct {
	Caught bool `json:"caught"`
	Runs   int  `json:"runs" doc:"runs until the mutant was caught, averaged over all searches"`
}

// breakJSON describes the violation by which a mutant was caught.
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
	Repeat string      `json:"repeat" doc:"a command that reproduces the violation"`
}

// data returns the report's JSON object.
func (c *Corpus) data() *corpusJSON {
	list := c.caught()
	d := &corpusJSON{First: c.First, Seeds: c.Seeds, Starts: c.Starts, Mutants: []mutantJSON{},
		Caught: len(list),
		Sound:  []soundLockJSON{}, Interrupted: c.Interrupted, Expected: c.Standing() == document.Passed}
	for i := range c.Mutants {
		d.Mutants = append(d.Mutants, c.mutantJSON(&c.Mutants[i]))
	}
	if len(list) > 0 {
		middle, most := median(list, MutantResult.runs), list[len(list)-1].runs()
		d.MedianRuns, d.MostRuns = &middle, &most
	}
	for i := range c.Slowest {
		d.Slowest = append(d.Slowest, rareOf(&c.Slowest[i]))
	}
	for i := range c.Sound {
		d.Sound = append(d.Sound, soundLockOf(&c.Sound[i]))
	}
	if len(c.Sound) > 0 {
		runs := c.soundRuns()
		d.SoundRuns = &runs
		if !c.promiseBroken() {
			bound := campaign.UpperBound(c.freeRuns())
			d.RateBelow = &bound
		}
	}
	return d
}

func (c *Corpus) mutantJSON(m *MutantResult) mutantJSON {
	d := mutantJSON{Name: m.Name, Of: m.Of, Edits: document.Texts(m.Edits), Defect: m.Defect, Source: m.Source,
		Scenario: m.File, Lost: m.Lost}
	if m.searched() {
		d.searchJSON = &searchJSON{m.caught(), m.runs()}
	}
	if m.caught() {
		first := m.firstCatch()
		d.breakJSON = &breakJSON{first.Law, first.Cause.String()}
	}
	if c.Starts > 1 && m.searched() {
		d.Estimate = estimateData(m.Searches)
	}
	if c.Unaimed && m.searched() {
		d.Unaimed = estimateData(m.Unaimed)
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
