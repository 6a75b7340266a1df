package reports

// ExploreJSON gives an exploration as one JSON object, ended by a newline: schema, command, scenario, shard, from, seeds, runs, laws, faults,
// findings (each with its smallest run as JSON gives it, and whether cutting it down was interrupted), interrupted, open, notes,
// expected.
func ExploreJSON(command string, e *Exploration) ([]byte, error) {
	o := document(command)
	o.field("scenario", e.Scenario)
	o.field("shard", e.Shard)
	o.field("from", e.From)
	o.field("seeds", e.Seeds)
	o.field("runs", e.Runs)
	o.field("within", e.Within)
	o.key("laws")
	o.open('{')
	for i := range e.Laws {
		o.key(e.Laws[i].Law)
		o.exploredLaw(&e.Laws[i])
	}
	o.close('}')
	o.key("faults")
	o.open('{')
	for _, f := range e.Faults {
		o.key(f.Kind)
		o.open('{')
		o.field("drawn", f.Drawn)
		o.field("struck", f.Struck)
		o.field("met_a_lock_in_use", f.Met)
		o.close('}')
	}
	o.close('}')
	o.key("findings")
	o.open('[')
	for i := range e.Findings {
		o.exploredFinding(&e.Findings[i])
	}
	o.close(']')
	o.field("interrupted", e.Interrupted)
	o.strings("open", e.Open)
	o.strings("notes", e.Notes)
	o.field("expected", e.OK)
	o.close('}')
	return o.done()
}

// strings writes a list of texts, also one without any.
func (o *object) strings(key string, list []string) {
	o.key(key)
	o.open('[')
	for _, s := range list {
		o.value(s)
	}
	o.close(']')
}

func (o *object) exploredLaw(l *ExploredLaw) {
	o.open('{')
	o.field("promised", l.Promised)
	o.lawCounts(l)
	if l.Holds > 0 && l.Violated == 0 {
		o.field("rate_below", l.Bound)
	}
	o.close('}')
}

// lawCounts says how often a law came out how.
func (o *object) lawCounts(l *ExploredLaw) {
	o.field("holds", l.Holds)
	o.field("violated", l.Violated)
	o.field("undecided", l.Undecided)
	o.field("unchecked", l.Unchecked)
}

func (o *object) exploredFinding(f *ExploredFinding) {
	o.open('{')
	o.field("law", f.Law)
	o.field("cause", f.Cause)
	o.field("promised", f.Promised)
	o.field("runs", f.Runs)
	o.field("first_seed", f.First)
	o.field("faults_drawn", f.Drawn)
	o.field("tries", f.Tries)
	o.field("minimal", f.Minimal)
	o.field("interrupted", f.Cut)
	o.field("seeds_of_16", f.Often)
	o.strings("files", f.Files)
	o.key("run")
	o.run(f.Run)
	o.close('}')
}
