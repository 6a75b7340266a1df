package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// SchemaName is what every JSON document says under schema: which edition of the schema in reports/schema it keeps to.
const SchemaName = "fencepost/1"

// document begins a JSON document with what every command's has: the schema and the command that has made it.
func document(command string) *object {
	o := new(object)
	o.open('{')
	o.field("schema", SchemaName)
	o.field("command", command)
	return o
}

// JSON gives one run as one JSON object, ended by a newline: schema, command, scenario, seed, digest, plan, laws, expected, events,
// simulated_ns, metrics. The keys of laws stand in the order of checker.Laws, those of metrics in theirs. Each law has its
// outcome, cause, explanation, remedies and witness; cause is empty, and remedies and witness have no elements, unless the
// law is violated. The witness holds the events themselves, as they stand in a history file. expected is true only if everything came out as
// expected, so it is false where something is undecided.
//
// It is an error if the witness holds an event that a history file could not hold.
func JSON(command string, run *Run) ([]byte, error) {
	o := document(command)
	o.runFields(run)
	o.close('}')
	return o.done()
}

// JSONMany gives many runs as one JSON object, ended by a newline: schema, command, scenario, seeds (how many), from, expected_runs,
// unexpected_runs, undecided_runs, interrupted, distinct_digests, laws, faults, groups, expected, and the runs worth showing, each
// as JSON gives it.
func JSONMany(command string, many *Many) ([]byte, error) {
	o := document(command)
	o.field("scenario", many.Scenario)
	o.field("seeds", many.Seeds)
	o.field("from", many.From)
	o.field("expected_runs", many.Expected)
	o.field("unexpected_runs", many.Unexpected)
	o.field("undecided_runs", many.Undecided)
	o.field("interrupted", many.Interrupted)
	o.field("distinct_digests", many.Digests)
	o.key("laws")
	o.open('{')
	for i := range many.Laws {
		l := &many.Laws[i]
		o.key(l.Law)
		o.open('{')
		o.lawCounts(l)
		o.close('}')
	}
	o.close('}')
	o.key("faults")
	o.open('[')
	for _, f := range many.Faults {
		o.open('{')
		o.field("line", f.Line)
		o.field("struck", f.Struck)
		o.field("met_a_lock_in_use", f.Met)
		o.close('}')
	}
	o.close(']')
	o.key("groups")
	o.open('[')
	for _, g := range many.Groups {
		o.group(g)
	}
	o.close(']')
	o.field("expected", many.standing() == asExpected)
	o.key("runs")
	o.open('[')
	for _, run := range many.Runs {
		o.run(run)
	}
	o.close(']')
	o.close('}')
	return o.done()
}

// object is a JSON document whose keys keep the order in which they are written. It keeps the first error.
type object struct {
	b    []byte
	next bool // a comma is due before the next element
	err  error
}

func (o *object) open(bracket byte) {
	o.comma()
	o.b = append(o.b, bracket)
	o.next = false
}

func (o *object) close(bracket byte) {
	o.b = append(o.b, bracket)
	o.next = true
}

func (o *object) comma() {
	if o.next {
		o.b = append(o.b, ',')
	}
	o.next = true
}

func (o *object) key(k string) {
	o.comma()
	o.marshal(k)
	o.b = append(o.b, ':')
	o.next = false
}

func (o *object) field(k string, v any) {
	o.key(k)
	o.value(v)
}

func (o *object) value(v any) {
	o.comma()
	o.marshal(v)
}

func (o *object) marshal(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "client-1 -> redis-1" stays readable
	if err := enc.Encode(v); err != nil && o.err == nil {
		o.err = fmt.Errorf("reports: %w", err)
	}
	o.b = append(o.b, bytes.TrimRight(b.Bytes(), "\n")...)
}

func (o *object) done() ([]byte, error) {
	if o.err != nil {
		return nil, o.err
	}
	return append(o.b, '\n'), nil
}

func (o *object) run(run *Run) {
	o.open('{')
	o.runFields(run)
	o.close('}')
}

func (o *object) runFields(run *Run) {
	plan := run.Plan
	if plan == nil {
		plan = []string{}
	}
	o.field("scenario", run.Scenario)
	o.field("seed", run.Seed)
	o.field("digest", run.Digest)
	o.field("plan", plan)
	o.key("laws")
	o.open('{')
	for _, f := range run.findings() {
		o.key(string(f.Law))
		o.finding(run.history(), &f)
	}
	o.close('}')
	o.field("expected", run.standing() == asExpected)
	o.field("events", run.Events)
	o.field("simulated_ns", run.Simulated.Nanoseconds())
	o.key("metrics")
	o.open('{')
	for _, m := range run.Metrics {
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
			o.field(m.Name, nil)
			continue
		}
		o.field(m.Name, m.Value)
	}
	o.close('}')
}

func (o *object) finding(h *history.History, f *checker.Finding) {
	o.open('{')
	o.field("outcome", f.Outcome.String())
	o.field("cause", f.Cause.String())
	o.field("explanation", f.Explanation)
	o.strings("remedies", remedies(f))
	if len(f.Trials) > 0 {
		o.key("trials")
		o.open('[')
		for _, t := range f.Trials {
			o.open('{')
			o.field("without", t.Faults)
			o.field("needed", t.Needed)
			o.field("outcome", t.Outcome.String())
			o.field("cause", t.Cause.String())
			o.close('}')
		}
		o.close(']')
	}
	o.key("witness")
	o.open('[')
	o.witness(h, f.Witness)
	o.close(']')
	o.close('}')
}

// remedies are what would keep the law that f says was broken.
func remedies(f *checker.Finding) []string {
	if f.Remedy == "" {
		return nil
	}
	return []string{f.Remedy}
}

// witness writes the events as a history file has them, one JSON object each.
func (o *object) witness(h *history.History, at []int) {
	for _, pos := range at {
		if pos < 0 || pos >= len(h.Events) {
			continue
		}
		var b bytes.Buffer
		if err := history.Encode(&b, &history.History{Events: h.Events[pos : pos+1]}); err != nil {
			if o.err == nil {
				o.err = fmt.Errorf("reports: witness: %w", err)
			}
			return
		}
		_, event, _ := bytes.Cut(b.Bytes(), []byte("\n")) // the header's line comes first
		o.comma()
		o.b = append(o.b, bytes.TrimRight(event, "\n")...)
	}
}

func (o *object) group(g Group) {
	o.open('{')
	o.field("name", g.Name)
	o.field("expected", g.Expected)
	o.field("got", g.Got)
	o.field("runs", g.Runs)
	o.field("first_seed", g.First)
	o.close('}')
}
