package reports

// SweepJSON gives a sweep as one JSON object, ended by a newline: schema, command, scenario, seeds (runs of each point), from (the first seed),
// faults, with (what has one value at all points), axes (key, title, levels), points (of the grid: at, problem if it is no valid scenario, or else a tally of
// each law with its causes), laws, assertions, interrupted, notes, tried (points, those between the grid's included), runs. A law has its
// edges (the values on both sides, what it was before and after) and its lines (stretches of one state along an axis). An
// assertion has its result (met, failed, undecided), the number of points at which it was tried, why, and the run that shows
// the failure, as JSON gives it.
func SweepJSON(s *Sweep) ([]byte, error) {
	o := document("sweep")
	o.field("scenario", s.Scenario)
	o.field("seeds", s.Seeds)
	o.field("from", s.From)
	o.field("faults", some(s.Faults))
	o.field("with", some(s.with()))
	o.list("axes", len(s.Axes), func(i int) { o.sweepAxis(&s.Axes[i]) })
	cells := 0
	if len(s.Laws) > 0 {
		cells = len(s.Laws[0].Cells)
	}
	o.list("points", cells, func(i int) { o.sweepPoint(s, i) })
	o.key("laws")
	o.open('{')
	for i := range s.Laws {
		o.key(string(s.Laws[i].Law))
		o.sweepLaw(s, &s.Laws[i])
	}
	o.close('}')
	o.list("assertions", len(s.Assertions), func(i int) { o.sweepAssertion(&s.Assertions[i]) })
	o.field("interrupted", s.Interrupted)
	o.field("notes", some(s.Notes))
	o.field("tried", s.Points)
	o.field("runs", s.Runs)
	o.field("repeat", s.Repeat)
	o.close('}')
	return o.done()
}

// some is a list that is never null.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// list writes n elements, each an object of its own.
func (o *object) list(key string, n int, element func(int)) {
	o.key(key)
	o.open('[')
	for i := range n {
		element(i)
	}
	o.close(']')
}

func (o *object) sweepAxis(a *SweepAxis) {
	o.open('{')
	o.field("key", a.Name)
	o.field("title", a.Title)
	o.key("levels")
	o.open('[')
	for _, l := range a.Levels {
		o.value(l.Text)
	}
	o.close(']')
	o.close('}')
}

// sweepAt writes the values of a point, by their axes.
func (o *object) sweepAt(key string, s *Sweep, levels []SweepLevel) {
	o.key(key)
	o.open('{')
	for i, l := range levels {
		o.field(s.Axes[i].Name, l.Text)
	}
	o.close('}')
}

func (o *object) sweepPoint(s *Sweep, i int) {
	o.open('{')
	o.sweepAt("at", s, s.levels(i))
	if problem := s.Laws[0].Cells[i].Problem; problem != "" {
		o.field("problem", problem)
		o.close('}')
		return
	}
	o.key("laws")
	o.open('{')
	for k := range s.Laws {
		l := &s.Laws[k]
		c := &l.Cells[i]
		o.key(string(l.Law))
		o.open('{')
		o.field("state", c.state().String())
		o.field("holds", c.Tally.Holds)
		o.field("violated", c.Tally.Violated)
		o.field("undecided", c.Tally.Undecided)
		o.field("unchecked", c.Tally.Unchecked)
		o.notRun(c.Tally)
		o.list("causes", len(c.Causes), func(n int) { o.sweepCause(&c.Causes[n]) })
		o.close('}')
	}
	o.close('}')
	o.close('}')
}

func (o *object) sweepCause(c *SweepCause) {
	o.open('{')
	o.field("cause", c.Cause)
	o.field("runs", c.Runs)
	o.field("first_seed", c.First)
	o.close('}')
}

func (o *object) sweepLaw(s *Sweep, l *SweepLaw) {
	o.open('{')
	o.list("edges", len(l.Edges), func(i int) {
		e := &l.Edges[i]
		o.open('{')
		o.field("along", s.Axes[e.Axis].Name)
		o.sweepAt("last", s, e.Last)
		o.field("before", e.Before.String())
		o.sweepAt("first", s, e.First)
		o.field("after", e.After.String())
		o.field("exact", e.Exact)
		o.field("cause", e.Cause.Cause)
		o.field("repeat", e.Repeat)
		o.close('}')
	})
	o.list("lines", len(l.Lines), func(i int) {
		along := &l.Lines[i]
		o.open('{')
		o.field("along", s.Axes[along.Axis].Name)
		o.field("at", along.Other)
		o.field("monotone", along.monotone())
		o.field("words", along.words(s.Axes[along.Axis].Name))
		o.list("stretches", len(along.Stretches), func(n int) {
			o.open('{')
			o.field("state", along.Stretches[n].State.String())
			o.field("from", along.Stretches[n].From.Text)
			o.field("to", along.Stretches[n].To.Text)
			o.close('}')
		})
		o.close('}')
	})
	o.close('}')
}

func (o *object) sweepAssertion(a *SweepAssertion) {
	o.open('{')
	o.field("assertion", a.Text)
	o.field("result", a.outcome())
	o.field("points", a.Points)
	o.field("why", a.Why)
	if a.Run != nil {
		o.key("run")
		o.run(a.Run)
	}
	o.close('}')
}
