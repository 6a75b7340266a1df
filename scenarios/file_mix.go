package scenarios

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// mixFields returns the settings in the "mix" mapping. Their defaults depend on the TTL.
func (f *file) mixFields(m *draw.Mix) []field {
	span := func(name string, to *draw.Span, standard, meaning string) field {
		return field{name: name, read: save(to, f.Span),
			doc: doc{values: "range", standard: standard, meaning: meaning}}
	}
	return []field{
		{name: "faults", read: func(n ast.Node) {
			m.Fewest, m.Most = f.WholeRange(n, draw.MaxFaults, m.Fewest, m.Most)
		},
			doc: doc{values: "0 to 1000, or a range", standard: "`1..5`",
				meaning: "how many faults each random plan has; see Mix"}},
		{name: "weights", read: func(n ast.Node) { f.readWeights(n, m) },
			doc: doc{values: "mapping of kind to 0 to 1000000",
				standard: "see below",
				meaning: "how often each kind of fault is drawn, relative to the others; " +
					"a kind that is not listed is not drawn"}},
		{name: "with", read: f.readAdditions,
			doc: doc{values: "list of kinds of faults", standard: "none",
				meaning: "kinds drawn in addition to those in `weights`, each with the average of those weights. " +
					"Kinds that are off by default are drawn only if they are listed here or used in `faults`"}},
		span("pause", &m.Pause, "TTL/100 to 3 × TTL", "how long pauses are"),
		span("jump", &m.Jump, "TTL/100 to 3 × TTL", "how far clocks jump, forward or backward"),
		span("delay", &m.Delay, "TTL/1000 to 3 × TTL", "how late messages are"),
		span("slow-fsync", &m.Fsync, "TTL/100 to TTL/2", "how much longer an fsync takes"),
		span("outage", &m.Outage, "TTL/100 to 3 × TTL", "how long cuts, drifts, slow links and slow fsyncs last"),
		span("downtime", &m.Downtime, "TTL/100 to 2 × TTL", "how long a server is down"),
		{name: "drift", read: save(&m.PPM, f.Rate),
			doc: doc{values: "1ppm to 500000ppm", standard: "`100000ppm`", meaning: "the largest drift, " +
				"fast or slow"}},
		{name: "forever", read: save(&m.Forever, f.Percent), doc: doc{values: "percentage", standard: "`10%`",
			meaning: "the share of cuts and drifts that never end, and of stopped servers that do not restart"}},
		{name: "aimed", read: save(&m.Aimed, f.Percent), doc: doc{values: "percentage", standard: "`50%`",
			meaning: "among the faults that strike at a given time, the share that is aimed at " +
				"something in the fault-free run: " +
				"a request or reply (each kind of request is equally likely), " +
				"an event, an expiry, or the end of a validity"}},
		{name: "guided", read: save(&m.Guided, f.Percent), doc: doc{values: "percentage", standard: "`50%`",
			meaning: "the share of plans that are variants of an earlier plan whose run came close to breaking a " +
				"law; the others are purely random"}},
		{name: "at-points", read: save(&m.AtPoint, f.Percent), doc: doc{values: "percentage", standard: "`50%`",
			meaning: "the share of faults that strike when a client passes a point; the others strike at a time"}},
		{name: "points", read: func(n ast.Node) { f.readPoints(n, m) },
			doc: doc{values: "list of points", standard: "all", meaning: "the points at which faults strike"}},
		{name: "passes", read: save(&m.Passes, f.Whole(1, maxCount)),
			doc: doc{values: "1 to 10000", standard: "`3`",
				meaning: "how often a client may pass a point before faults no longer strike there; " +
					"with 3, faults strike when the client passes the point for the first, second or third time"}},
		{name: "messages", read: save(&m.Messages, f.Whole(1, nemesis.MaxNumber)), doc: doc{
			values: "1 to 1000000", standard: "`12`",
			meaning: "the highest number of a message or reply that a fault may name; " +
				"the messages of each link are numbered from the start of the run"}},
		{name: "swarm", read: save(&m.Swarm, f.OnOff),
			doc: doc{values: "switch", standard: "`on`",
				meaning: "each random plan uses only a random half of the kinds of faults"}},
		{name: "within", read: save(&f.scenario.Within, f.Millis), doc: doc{values: "whole milliseconds, at least 1ms",
			standard: "see below", meaning: "the time after the start in which faults may strike"}},
		{name: "without", read: func(n ast.Node) { f.readExclusions(n, m) },
			doc: doc{values: "list of kinds of faults", standard: "none", meaning: "kinds that are never drawn"}},
	}
}

// readMix parses the mix, and reports an error if no fault can be drawn from it. The defaults depend on how long a lock
// can block other clients, because faults that are much shorter than that do no harm.
func (f *file) readMix(names *nemesis.Names) {
	m := draw.For(f.scenario.Servers.lasts(&f.lock.config))
	m.Weights = m.Weights.With(f.ownKinds())
	f.scenario.Mix = m
	if f.mix == nil {
		return
	}
	before := f.Problems()
	in := mapping(f.Reader, f.mix, "mix", f.mixFields(&m))
	if place, given := in["slow-fsync"]; given && f.scenario.Servers.consensus() {
		f.Problem(place, "", "only fsyncs of Redis nodes can be slowed down: remove `slow-fsync`")
	}
	m.Weights = m.Weights.With(f.with)
	f.scenario.Mix = m
	if names == nil || f.Problems() > before {
		return
	}
	if f.scenario.Within > f.scenario.Limit {
		f.Problem(format.StartOf(f.mix), "", "the mix draws faults that strike up to %s after the start, "+
			"but the run is limited to %s", f.scenario.Within,
			f.scenario.Limit)
	}
	targets := nemesis.TargetsOf(names)
	for _, k := range nemesis.Kinds {
		if place, given := in["with"]; given && slices.Contains(f.with, k.String()) && !targets.Has(k) {
			f.Problem(place, "",
				"a fault of kind %s cannot affect anything on %s servers", k, f.scenario.Servers.Backend)
		}
	}
	if _, err := draw.NewGenerator(m, *names, f.scenario.Limit); err != nil {
		f.Problem(format.StartOf(f.mix), "", "%s", err)
	}
}

// ownKinds returns the kinds of the scenario's own faults. They are drawn even if they are off by default, because the
// scenario's author expects such faults.
func (f *file) ownKinds() (kinds []string) {
	for i := range f.scenario.Faults {
		kinds = append(kinds, f.scenario.Faults[i].Kind.String())
	}
	return kinds
}

// readWeights parses the weights. A weight is how often a kind is drawn relative to the others. A kind without a weight
// is not drawn.
func (f *file) readWeights(n ast.Node, m *draw.Mix) {
	m.Weights = draw.Weights{}
	var fields []field
	for _, k := range nemesis.Kinds {
		fields = append(fields, field{name: k.String(), sample: "1",
			read: save(&m.Weights[k], f.Whole(0, draw.MaxWeight))})
	}
	mapping(f.Reader, n, "mix.weights", fields)
}

// readAdditions parses mix.with, the kinds of faults to draw in addition to those that have a weight.
func (f *file) readAdditions(n ast.Node) {
	kinds := make([]string, len(nemesis.Kinds))
	for i, k := range nemesis.Kinds {
		kinds[i] = k.String()
	}
	f.List(n, "mix.with", func(n ast.Node) {
		if kind, ok := format.Choose(f.Reader, kinds...)(n); ok {
			f.with = append(f.with, kind)
		}
	})
}

func (f *file) readPoints(n ast.Node, m *draw.Mix) {
	m.Points = nil
	f.List(n, "mix.points", func(n ast.Node) {
		if p, ok := format.Choose(f.Reader, sim.Points...)(n); ok && !slices.Contains(m.Points, p) {
			m.Points = append(m.Points, p)
		}
	})
}

func (f *file) readExclusions(n ast.Node, m *draw.Mix) {
	f.List(n, "mix.without", func(n ast.Node) {
		line, ok := f.Scalar(n, "a kind of fault such as: jump of servers")
		if !ok {
			return
		}
		place, _ := f.InLine(n, line)
		x, err := nemesis.ParseExclusion(line)
		if err != nil {
			f.badFault(err, place)
			return
		}
		m.Without = append(m.Without, x)
	})
}

// readPromise parses the laws that must hold under any faults, and whether availability is promised.
func (f *file) readPromise(n ast.Node) {
	p := &f.scenario.Promise
	p.Laws = []checker.Law{}
	f.List(n, "promise", func(n ast.Node) {
		law, ok := format.Choose(f.Reader, append(slices.Clone(checker.Laws), checker.Availability)...)(n)
		switch {
		case ok && (slices.Contains(p.Laws, law) || p.Availability && law == checker.Availability):
			f.Problem(format.StartOf(n), "", "%s is promised twice", law)
		case ok && law == checker.Availability:
			p.Availability = true
		case ok:
			p.Laws = append(p.Laws, law)
		}
	})
	if p.Availability && !slices.Contains(p.Laws, checker.DeadlockFreedom) {
		f.Problem(format.StartOf(n), "", "promising %s requires promising %s: add it to the list", checker.Availability,
			checker.DeadlockFreedom)
	}
}

// defaultPromise adds every law to the promise, except those that the file says may be violated.
func (f *file) defaultPromise() {
	s := f.scenario
	stated := s.Promise.Laws != nil
	for _, law := range checker.Laws {
		expected := s.Expect.Laws[law]
		if !stated && expected.Outcome != checker.Violated && !expected.Any {
			s.Promise.Laws = append(s.Promise.Laws, law)
		}
		if expected.Outcome == checker.Holds || stated && slices.Contains(s.Promise.Laws, law) {
			s.Shown = append(s.Shown, law)
		}
	}
}
