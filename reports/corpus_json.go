package reports

// CorpusJSON gives what became of the corpus as one JSON object, ended by a newline: schema, command, first_seed, seeds, mutants (each with
// name, of, edits, defect, source, scenario, and if it was hunted caught, runs, law and cause), caught, median_runs,
// most_runs, sound (each with name, promise, runs, broken and open), sound_runs, rate_below, interrupted and expected. It
// states no times: equal runs give equal bytes.
func CorpusJSON(c *Corpus) ([]byte, error) {
	o := document("corpus")
	o.field("first_seed", c.First)
	o.field("seeds", c.Seeds)
	o.key("mutants")
	o.open('[')
	for i := range c.Mutants {
		o.huntedMutant(&c.Mutants[i])
	}
	o.close(']')
	list := c.caught()
	o.field("caught", len(list))
	if len(list) > 0 {
		o.field("median_runs", median(list).Runs)
		o.field("most_runs", list[len(list)-1].Runs)
	}
	o.key("sound")
	o.open('[')
	broken := false
	for i := range c.Sound {
		o.soundLock(&c.Sound[i])
		broken = broken || len(c.Sound[i].Broken) > 0
	}
	o.close(']')
	if len(c.Sound) > 0 {
		o.field("sound_runs", c.SoundRuns())
		if !broken {
			o.field("rate_below", c.Bound)
		}
	}
	o.field("interrupted", c.Interrupted)
	o.field("expected", c.Standing() == Passed)
	o.close('}')
	return o.done()
}

func (o *object) huntedMutant(m *HuntedMutant) {
	o.open('{')
	o.field("name", m.Name)
	o.field("of", m.Of)
	o.strings("edits", m.Edits)
	o.field("defect", m.Defect)
	o.field("source", m.Source)
	o.field("scenario", m.Scenario)
	if m.Hunted {
		o.field("caught", m.Caught)
		o.field("runs", m.Runs)
	}
	if m.Caught {
		o.field("law", m.Law)
		o.field("cause", m.Cause)
	}
	o.close('}')
}

func (o *object) soundLock(l *SoundLock) {
	o.open('{')
	o.field("name", l.Name)
	o.strings("promise", l.Promise)
	o.field("runs", l.Runs)
	o.key("broken")
	o.open('[')
	for _, b := range l.Broken {
		o.open('{')
		o.field("law", b.Law)
		o.field("cause", b.Cause)
		o.field("runs", b.Runs)
		o.field("first_seed", b.First)
		o.field("repeat", b.Repeat)
		o.close('}')
	}
	o.close(']')
	o.strings("open", l.Open)
	o.close('}')
}
