package single

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// RunObject is a run as an object of its own or within another document.
type RunObject struct {
	Scenario  string                      `json:"scenario"`
	Seed      uint64                      `json:"seed"`
	Digest    string                      `json:"digest"`
	Plan      []string                    `json:"plan"`
	Laws      map[checker.Law]findingJSON `json:"laws"`
	Expected  bool                        `json:"expected"` // everything came out as expected, and nothing is undecided
	Verdict   string                      `json:"verdict"`  // as the title of the text has it
	Headline  string                      `json:"headline"`
	Events    int                         `json:"events"`
	Simulated int64                       `json:"simulated_ns"`
	Metrics   map[string]*float64         `json:"metrics"` // null: nothing to measure, or no number
	Notes     []string                    `json:"notes,omitempty"`
	Idle      []IdleFault                 `json:"idle_faults,omitempty"`
}

// IdleFault is a fault of the plan that can have had no effect.
type IdleFault struct {
	Fault string `json:"fault"`
	Why   string `json:"why"`
}

// findingJSON is how a law came out. Cause is empty, and remedies and witness have no elements, unless it was violated.
type findingJSON struct {
	Outcome     string            `json:"outcome"`
	NotPromised bool              `json:"not_promised,omitempty"` // it is violated by a cause that breaks no promise
	Judges      *judgesJSON       `json:"judges,omitempty"`
	Cause       string            `json:"cause"`
	Explanation string            `json:"explanation"`
	Remedies    []string          `json:"remedies"`
	Trials      []trialJSON       `json:"trials,omitempty"`
	Witness     []json.RawMessage `json:"witness"` // the events as they stand in a history file
}

// judgesJSON is what the two judges of mutual exclusion said, and why there is no answer of porcupine's.
type judgesJSON struct {
	Porcupine string `json:"porcupine"`
	Interval  string `json:"interval_check"`
	Why       string `json:"why,omitempty"`
}

// trialJSON is a run without some of the faults.
type trialJSON struct {
	Without []string `json:"without"`
	Needed  bool     `json:"needed"`
	Outcome string   `json:"outcome"`
	Cause   string   `json:"cause"`
}

// JSON gives the run as one JSON object, ended by a newline. It is an error if the witness holds an event that a
// history file could not hold.
func (r *Run) JSON(command string) ([]byte, error) {
	if r.Recording != nil {
		return r.recordedJSON(command)
	}
	run, err := r.Object()
	if err != nil {
		return nil, err
	}
	return document.Encode(struct {
		document.Head
		*RunObject
	}{document.HeadOf(command), run})
}

// Object is the run as a part of a JSON document.
func (r *Run) Object() (*RunObject, error) {
	d := &RunObject{Scenario: r.Scenario, Seed: r.Seed, Digest: r.Digest, Plan: document.Some(r.Plan),
		Laws:     map[checker.Law]findingJSON{},
		Expected: r.standing().Result == document.Passed, Events: r.Events, Simulated: r.Simulated.Nanoseconds(),
		Metrics: map[string]*float64{}, Notes: r.Notes, Verdict: r.words(), Headline: r.Headline()}
	for _, f := range r.planned() {
		if f.Idle != "" {
			d.Idle = append(d.Idle, IdleFault{f.Line, f.Idle})
		}
	}
	for _, f := range r.Findings() {
		told, err := findingOf(r.Recorded(), &f)
		if err != nil {
			return nil, err
		}
		if e := r.expectation(string(f.Law)); e != nil {
			told.NotPromised = e.Standing.Excused
		}
		d.Laws[f.Law] = told
	}
	for _, m := range r.Metrics {
		d.Metrics[m.Name] = nil
		if m.Samples > 0 && !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) {
			d.Metrics[m.Name] = &m.Value
		}
	}
	return d, nil
}

func findingOf(h *history.History, f *checker.Finding) (findingJSON, error) {
	d := findingJSON{Outcome: f.Outcome.String(), Cause: f.Cause.String(), Explanation: f.Explanation,
		Remedies: []string{}, Witness: []json.RawMessage{}}
	if j := f.Judges; j != (checker.Judges{}) {
		d.Judges = &judgesJSON{j.Porcupine.String(), j.Interval.String(), j.Porcupine.Why()}
	}
	if f.Remedy != "" {
		d.Remedies = append(d.Remedies, f.Remedy)
	}
	for _, t := range f.Trials {
		d.Trials = append(d.Trials, trialJSON{t.Faults, t.Needed, t.Outcome.String(), t.Cause.String()})
	}
	for _, pos := range f.Witness {
		if pos < 0 || pos >= len(h.Events) {
			continue
		}
		var b bytes.Buffer
		if err := history.Encode(&b, &history.History{Events: h.Events[pos : pos+1]}); err != nil {
			return d, fmt.Errorf("reports: witness: %w", err)
		}
		_, event, _ := bytes.Cut(b.Bytes(), []byte("\n")) // the header's line comes first
		d.Witness = append(d.Witness, event)
	}
	return d, nil
}
