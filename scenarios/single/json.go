package single

import (
	"bytes"
	"fmt"

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
	Outcome     string        `json:"outcome"`
	NotPromised bool          `json:"not_promised,omitempty"` // it is violated by a cause that breaks no promise
	Judges      *judgesJSON   `json:"judges,omitempty"`
	Cause       string        `json:"cause"`
	Explanation string        `json:"explanation"`
	Remedies    []string      `json:"remedies"`
	Trials      []trialJSON   `json:"trials,omitempty"`
	Witness     []witnessJSON `json:"witness"`
}

// witnessJSON is an event of a witness, as it stands in a history file.
type witnessJSON struct{ event *history.Event }

// MarshalJSON gives the event's line. It is an error if a history file could not hold the event.
func (w witnessJSON) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := history.Encode(&b, &history.History{Events: []history.Event{*w.event}}); err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	_, event, _ := bytes.Cut(b.Bytes(), []byte("\n")) // the header's line comes first
	return event, nil
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

// recordedObject is the verdict on a recorded history as JSON.
type recordedObject struct {
	Files      []string `json:"files"`
	Reading    string   `json:"reading"`
	Lock       string   `json:"lock"`
	Initial    string   `json:"initial"`
	ClockError int64    `json:"clock_error_ns"`
	// of each process, where they differ; the largest is ClockError
	ClockErrors map[history.Process]history.Time `json:"clock_errors_ns,omitempty"`
	Notes       []string                         `json:"notes"`
	Faults      []string                         `json:"faults"`
	Laws        map[checker.Law]findingJSON      `json:"laws"`
	Result      string                           `json:"result"`
	Events      int                              `json:"events"`
	Recorded    int64                            `json:"recorded_ns"`
	Metrics     map[string]*float64              `json:"metrics"`
}

// data is the JSON object.
func (r *Run) data(title *document.Title) any {
	if r.Recording == nil {
		return &struct {
			document.Head
			*RunObject
		}{RunObject: r.object(title)}
	}
	h := r.Recorded()
	return &struct {
		document.Head
		recordedObject
	}{recordedObject: recordedObject{Files: r.Recording.Files, Reading: h.Header.Reading.String(), Lock: r.Recording.Lock,
		Initial: h.Header.Initial, ClockError: int64(h.Header.ClockError), ClockErrors: h.Header.ClockErrors,
		Notes: document.Some(r.Notes), Faults: document.Some(r.Plan), Laws: r.laws(), Result: title.Verdict,
		Events: len(h.Events), Recorded: r.Simulated.Nanoseconds(), Metrics: document.Metrics(r.Metrics).JSON()}}
}

// Object is the run as a part of a JSON document.
func (r *Run) Object() *RunObject {
	title := r.title()
	return r.object(&title)
}

func (r *Run) object(title *document.Title) *RunObject {
	d := &RunObject{Scenario: r.Scenario, Seed: r.Seed, Digest: r.Digest, Plan: document.Some(r.Plan), Laws: r.laws(),
		Expected: r.standing().Result == document.Passed, Events: r.Events, Simulated: r.Simulated.Nanoseconds(),
		Metrics: document.Metrics(r.Metrics).JSON(), Notes: r.Notes, Verdict: title.Verdict, Headline: title.Headline}
	for _, f := range r.plan() {
		if f.Idle != "" {
			d.Idle = append(d.Idle, IdleFault{f.Line, f.Idle})
		}
	}
	return d
}

func (r *Run) laws() map[checker.Law]findingJSON {
	all := map[checker.Law]findingJSON{}
	for _, f := range r.Findings() {
		d := findingOf(r.Recorded(), &f)
		if e := r.expectation(string(f.Law)); e != nil {
			d.NotPromised = e.Standing.Excused
		}
		all[f.Law] = d
	}
	return all
}

func findingOf(h *history.History, f *checker.Finding) findingJSON {
	d := findingJSON{Outcome: f.Outcome.String(), Cause: f.Cause.String(), Explanation: f.Explanation,
		Remedies: []string{}, Witness: []witnessJSON{}}
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
		if pos >= 0 && pos < len(h.Events) {
			d.Witness = append(d.Witness, witnessJSON{&h.Events[pos]})
		}
	}
	return d
}
