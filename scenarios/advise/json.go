package advise

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// Described documents the JSON that the command prints with --json.
var Described = []document.Described{
	{Commands: []string{"advise"}, Object: adviseJSON{}, Is: "changes that fix a lock"},
}

type adviseJSON struct {
	document.Head
	Scenario string `json:"scenario"`
	Outcome  string `json:"outcome"` // "nothing broken", "can be saved", "not saved" or "undecided"
	// whether the lock breaks under the file's own faults, or even without faults
	OwnFaults bool     `json:"own_faults"`
	Explored  int      `json:"explored"` // number of random plans that were run to find some that break the lock
	Plans     []string `json:"plans"`    // the faults that broke the lock
	// Runs is the number of times each change was run under the faults that broke the lock.
	Runs int `json:"runs"`
	// how many times a confirmed change was run under fresh faults of the same kinds
	Fresh       int          `json:"fresh_runs"`
	Others      int          `json:"other_runs"` // number of runs under all kinds of faults
	Broken      []brokenJSON `json:"broken"`
	Cost        costJSON     `json:"cost"` // cost of the unchanged lock
	Changes     []changeJSON `json:"changes"`
	Tried       triedJSON    `json:"tried"`
	Interrupted bool         `json:"interrupted" doc:"a signal ended the work early"`
	// whether the processor time budget was used up before everything was tried
	OutOfBudget bool `json:"out_of_budget"`
	// in words, what was not tried because the search was interrupted or ran out of budget
	Untried string   `json:"untried"`
	Open    []string `json:"open"`
	File    string   `json:"file"` // file with the best change; empty if no file was written
	Diff    string   `json:"diff"`
	Files   string   `json:"files"`
	Repeat  string   `json:"repeat" doc:"a command that does the same work again"`
}

type brokenJSON struct {
	Law    checker.Law `json:"law"`
	Causes []string    `json:"causes"`
	Runs   int         `json:"runs"`
	Fresh  int         `json:"fresh_runs"`
	// why no change makes the law hold; empty if one does or if the reason is not known
	Nature string `json:"nature"`
}

type costJSON struct {
	Acquire  int64   `json:"acquire_ns"`
	Requests float64 `json:"requests"`
	Servers  int     `json:"servers"`
	Lease    int64   `json:"lease_ns"` // how long a crashed holder keeps others out
	// Endless says whether a crashed holder keeps other clients out forever. If so, lease_ns is 0.
	Endless bool `json:"endless"`
}

type changeJSON struct {
	Changes   []string     `json:"changes"`
	Keeps     bool         `json:"keeps"` // whether the change keeps every promise that can be kept
	Mends     []string     `json:"mends"`
	Leaves    []string     `json:"leaves"`
	Breaks    []breachJSON `json:"breaks"`
	Otherwise []breachJSON `json:"otherwise"` // breaches that are not new, and breaches that no lock can prevent
	GivesUp   bool         `json:"gives_up"`
	Spared    []string     `json:"spared"`
	Cost      costJSON     `json:"cost"`
	Runs      int          `json:"runs"`           // number of runs under the faults that broke the lock
	Elsewhere int          `json:"elsewhere_runs"` // number of runs with these faults on other or more servers
	Fresh     int          `json:"fresh_runs"`
	File      string       `json:"file"` // file with the change; empty if no file was written
}

type breachJSON struct {
	Law    checker.Law `json:"law"`
	Cause  string      `json:"cause"` // empty if the runs no longer show that the law holds
	Runs   int         `json:"runs"`
	Of     int         `json:"of"`
	Nature string      `json:"nature"` // why no lock can prevent the breach; empty if one may
}

type triedJSON struct {
	Singles int `json:"singles"`
	Pairs   int `json:"pairs"`
}

// data returns the report as a JSON object, with the best changes first.
func (a *Report) data() *adviseJSON {
	d := &adviseJSON{Scenario: a.Scenario.Name, Outcome: a.outcome(), OwnFaults: a.Own,
		Explored: a.Explored,
		Plans:    a.plans(), Runs: a.Base.Given.Runs, Fresh: a.Base.Fresh.Runs, Others: a.otherRuns(),
		Broken: []brokenJSON{},
		Cost:   costOf(a.Base.Cost), Changes: []changeJSON{}, Tried: triedJSON{a.Singles, a.Pairs},
		Interrupted: a.Interrupted, OutOfBudget: a.OutOfBudget, Untried: a.untried(),
		Open: document.Some(a.open()), File: a.file(0), Diff: a.Diff, Files: a.Files, Repeat: a.Repeat}
	for _, l := range a.Broken {
		d.Broken = append(d.Broken,
			brokenJSON{l, a.causes(l), a.Base.Given.violated(l), a.Base.Fresh.violated(l), a.ByNature[l]})
	}
	for i, t := range a.Mending {
		d.Changes = append(d.Changes, changeJSON{changesOf(t), a.keeps(t), document.LawNames(t.Mended),
			document.LawNames(t.Left), breachesOf(t.New),
			breachesOf(t.Known), t.GivesUp, document.Some(t.Spared), costOf(t.Cost), t.Given.Runs, t.Elsewhere.Runs,
			t.Fresh.Runs, a.file(i)})
	}
	return d
}

// file returns the scenario file for the ith change, or "" if no file was written.
func (a *Report) file(i int) string {
	if i >= len(a.Written) {
		return ""
	}
	return a.Written[i]
}

func costOf(c Cost) costJSON {
	if c.Lease == forever {
		return costJSON{c.Acquire.Nanoseconds(), c.Requests, c.Servers, 0, true}
	}
	return costJSON{c.Acquire.Nanoseconds(), c.Requests, c.Servers, c.Lease.Nanoseconds(), false}
}

func breachesOf(list []Breach) []breachJSON {
	all := []breachJSON{}
	for _, b := range list {
		cause := ""
		if b.Cause != (checker.Cause{}) {
			cause = b.Cause.String()
		}
		all = append(all, breachJSON{b.Law, cause, b.Runs, b.Of, b.Nature})
	}
	return all
}
