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

// rules determine when a campaign may stop before it is complete. A zero field has no effect.
type rules struct {
	Time     time.Duration `json:"time,omitempty"`     // how long the campaign may be coordinated
	Findings int           `json:"findings,omitempty"` // number of distinct violations of promised laws
	// The campaign stops once the share of runs that break a promise is below Rate, with 95% confidence.
	Rate float64 `json:"rate,omitempty"`
}

// finding is a violation, as shown to users who are following the campaign.
type finding struct {
	Entry string `json:"entry"`
	campaign.Finding
	Promised bool `json:"promised"`
}

// state is what has been found so far about one subject or, in a summary, about all of them.
type state struct {
	Findings []finding `json:"findings,omitempty"`
	// Sure is the number of runs that exercised the promised law that was exercised least. If a promise was broken, it
	// is 0.
	Sure int `json:"sure"`
	Runs int `json:"runs"`
}

// summary returns all subjects' findings and run counts so far, as a JSON object that encodes a state.
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

// stopReason returns the reason why the current stage should be stopped, or "" if it should continue.
func (j *job) stopReason(p queue.Progress) string {
	name, stage, _ := strings.Cut(p.Stage().Name, between)
	for i, e := range j.order.Entries {
		if e.Name == name && j.subjects[i].endable(stage) {
			return j.order.Rules.met(p, j.subjects[i].state())
		}
	}
	return ""
}

// met describes the first rule that requires the campaign to end now. It returns "" if the campaign should continue.
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
		return fmt.Sprintf("the time limit of %s was reached", r.Time)
	case r.Findings > 0 && broken >= r.Findings:
		return text.Count(broken, "distinct violation") + " found"
	case r.Rate > 0 && s.Sure > 0 && campaign.UpperBound(s.Sure) < r.Rate:
		return fmt.Sprintf("fewer than %s of the runs break a promise (95%% confidence)",
			text.Percentage(campaign.UpperBound(s.Sure)))
	}
	return ""
}
