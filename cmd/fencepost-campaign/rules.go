package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// rules say when a campaign has found out enough, besides that all is done. A zero field is no rule.
type rules struct {
	Time     time.Duration `json:"time,omitempty"`     // of coordination
	Findings int           `json:"findings,omitempty"` // distinct violations of what is promised
	// Rate is what the rate of broken promises per run is to lie below, with 95 % confidence.
	Rate float64 `json:"rate,omitempty"`
}

// finding is a violation as those see it who follow the campaign.
type finding struct {
	Entry string `json:"entry"`
	campaign.Finding
	Promised bool `json:"promised"`
}

// state is what a subject has found so far.
type state struct {
	Findings []finding `json:"findings,omitempty"`
	// Sure is in how many runs each promised law was exercised, at least, if no promise was broken; otherwise 0.
	Sure int `json:"sure"`
	// Runs were made.
	Runs int `json:"runs"`
}

// summary is what all subjects have found so far.
func (j *job) summary() json.RawMessage {
	var all state
	for i, s := range j.subjects {
		one := s.state()
		for k := range one.Findings {
			one.Findings[k].Entry = j.order.Entries[i].Name
		}
		all.Findings = append(all.Findings, one.Findings...)
		all.Runs += one.Runs
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return text
}

// over says why the stage under way is to be ended; empty if it is not.
func (j *job) over(p queue.Progress) string {
	name, stage, _ := strings.Cut(p.Stage().Name, between)
	for i, e := range j.order.Entries {
		if e.Name == name && j.subjects[i].endable(stage) {
			return j.order.Rules.met(p, j.subjects[i].state())
		}
	}
	return ""
}

// met says which rule is met; empty if none is.
func (r rules) met(p queue.Progress, s state) string {
	broken := 0
	for _, f := range s.Findings {
		if f.Promised {
			broken++
		}
	}
	switch {
	case p.Stop != "":
		return p.Stop
	case r.Time > 0 && p.Elapsed >= r.Time:
		return fmt.Sprintf("%s are over", r.Time)
	case r.Findings > 0 && broken >= r.Findings:
		return text.Count(broken, "distinct violation") + " found"
	case r.Rate > 0 && s.Sure > 0 && campaign.UpperBound(s.Sure) < r.Rate:
		return fmt.Sprintf("a promise is broken in less than %s of the runs (95 %% sure)",
			text.Percentage(campaign.UpperBound(s.Sure)))
	}
	return ""
}
