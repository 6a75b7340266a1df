package single

import (
	"bytes"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// Described lists the JSON objects that the commands print with --json.
var Described = []document.Described{
	{Commands: []string{"run", "replay", "live"}, Object: runJSON{}, Is: "one run"},
	{Commands: []string{"check"}, Object: recordedJSON{}, Is: "a recorded history, judged"},
}

// RunObject is a run as a JSON object, either by itself or within another document.
type RunObject struct {
	Scenario  string                      `json:"scenario" doc:"name of the scenario"`
	Seed      uint64                      `json:"seed" doc:"seed of the run, which determines everything random in it"`
	Digest    string                      `json:"digest" doc:"digest of everything that happened; equal runs have equal digests; empty in real time"`
	Plan      []string                    `json:"plan" doc:"the faults, one line each"`
	Laws      map[checker.Law]findingJSON `json:"laws" doc:"outcome of each law"`
	Expected  bool                        `json:"expected" doc:"whether everything came out as the scenario expects; also false if something is undecided"`
	Verdict   string                      `json:"verdict" of:"verdict"`
	Headline  string                      `json:"headline" doc:"what happened, in a sentence or two"`
	Events    int                         `json:"events" doc:"number of simulated events, including messages and timers"`
	Simulated int64                       `json:"simulated_ns" doc:"true (not clock) time at the end of the run"`
	Metrics   map[string]*float64         `json:"metrics" of:"measure" doc:"metrics by name; null for a metric without a value"`
	Notes     []string                    `json:"notes,omitempty" doc:"notes that a reader must know about the run"`
	Idle      []IdleFault                 `json:"idle_faults,omitempty" doc:"faults of the plan that never struck, or struck while no affected client held or asked for a lock"`
}

// IdleFault is a fault in the plan that certainly had no effect.
type IdleFault struct {
	Fault string `json:"fault"`
	Why   string `json:"why"`
}

// findingJSON is the outcome for a law.
type findingJSON struct {
	Outcome     string      `json:"outcome" of:"outcome"`
	NotPromised bool        `json:"not_promised,omitempty" doc:"the violation breaks no promise because of its cause, such as the permanent loss of the quorum"`
	Judges      *judgesJSON `json:"judges,omitempty" doc:"for mutual-exclusion: which of the two checkers decided"`
	breachJSON
	Further []breachJSON `json:"further,omitempty" doc:"first violation of the law by each other cause"`
}

// breachJSON is the cause and explanation of a violation. If the law was not violated, only the explanation is set.
type breachJSON struct {
	Cause       string        `json:"cause" doc:"empty unless violated"`
	Explanation string        `json:"explanation"`
	Remedies    []string      `json:"remedies" doc:"what would prevent the violation; empty unless violated"`
	Trials      []trialJSON   `json:"trials,omitempty" doc:"repetitions of the run without some of its faults"`
	Witness     []witnessJSON `json:"witness" of:"event" doc:"events that show the violation; empty unless violated"`
}

// witnessJSON is one of a witness's events, in the format of a history file.
type witnessJSON struct{ event *history.Event }

// MarshalJSON returns the event as a line in a history file. It returns an error if the event is not allowed in a
// history file.
func (w witnessJSON) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := history.Encode(&b, &history.History{Events: []history.Event{*w.event}}); err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	_, event, _ := bytes.Cut(b.Bytes(), []byte("\n")) // the first line is the header
	return event, nil
}

// judgesJSON contains the verdicts of the two mutual-exclusion judges.
type judgesJSON struct {
	Porcupine string `json:"porcupine" enum:"refuted|allowed|did not finish|not asked" doc:"what the linearizability checker says about the critical sections"`
	Interval  string `json:"interval_check" enum:"refuted|allowed|undecided" doc:"what the interval check says about the critical sections"`
	Why       string `json:"why,omitempty" doc:"why porcupine gave no answer, so that the interval check judged alone"`
}

// trialJSON is the outcome of repeating the run without some of its faults.
type trialJSON struct {
	Without []string `json:"without"`
	Needed  bool     `json:"needed"`
	Outcome string   `json:"outcome" of:"outcome"`
	Cause   string   `json:"cause"`
}

// runJSON is the JSON document for a run.
type runJSON struct {
	document.Head
	RunObject
}

// recordedJSON is the JSON document with the verdict on a recorded history.
type recordedJSON struct {
	document.Head
	Files      []string `json:"files" doc:"files that were judged together"`
	Reading    string   `json:"reading" enum:"default|strict" doc:"how a failed release is interpreted: as by the holder (default) or by the service (strict)"`
	Lock       string   `json:"lock" enum:"|mutex|reentrant" doc:"the kind of lock that --lock specified"`
	Initial    string   `json:"initial" doc:"initial value of registers; empty if it is not stated"`
	ClockError int64    `json:"clock_error_ns" doc:"maximum error of the clock of each process"`

	ClockErrors map[history.Process]history.Time `json:"clock_errors_ns,omitempty" doc:"maximum clock error of each process whose clock has a different maximum error"`
	Notes       []string                         `json:"notes" doc:"what a reader of the verdict must know"`
	Faults      []string                         `json:"faults" doc:"faults that the history records"`
	Laws        map[checker.Law]findingJSON      `json:"laws" doc:"outcome of each law"`
	Result      string                           `json:"result" enum:"no violation|violated|undecided|nothing judged" doc:"exit codes 0, 1, 3 and 3"`
	Events      int                              `json:"events" doc:"number of events in the history as it was judged"`
	Recorded    int64                            `json:"recorded_ns" doc:"time of the last event"`
	Metrics     map[string]*float64              `json:"metrics" of:"measure" doc:"metrics by name; null for a metric without a value"`
}

// data returns the report's JSON object.
func (r *Run) data(title *document.Title) any {
	if r.Recording == nil {
		return &runJSON{RunObject: *r.object(title)}
	}
	h := r.Recorded()
	return &recordedJSON{Files: r.Recording.Files, Reading: h.Header.Reading.String(), Lock: r.Recording.Lock,
		Initial: h.Header.Initial, ClockError: int64(h.Header.ClockError), ClockErrors: h.Header.ClockErrors,
		Notes: document.Some(r.Notes), Faults: document.Some(r.Plan), Laws: r.laws(), Result: title.Verdict,
		Events: len(h.Events), Recorded: r.Simulated.Nanoseconds(), Metrics: document.Metrics(r.Metrics).JSON()}
}

// Object returns the run as part of a JSON document.
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
	d := findingJSON{Outcome: f.Outcome.String(), breachJSON: breachOf(h, f)}
	if j := f.Judges; j != (checker.Judges{}) {
		d.Judges = &judgesJSON{j.Porcupine.String(), j.Interval.String(), j.Porcupine.Why()}
	}
	for i := range f.Further {
		d.Further = append(d.Further, breachOf(h, &f.Further[i]))
	}
	return d
}

func breachOf(h *history.History, f *checker.Finding) breachJSON {
	d := breachJSON{Cause: f.Cause.String(), Explanation: f.Explanation, Remedies: []string{}, Witness: []witnessJSON{}}
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
