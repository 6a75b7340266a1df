package reports

// VerifyJSON gives a verification as one JSON object, ended by a newline: schema, command, scenario, faults (the most in one placement),
// seed, outcome (holds, violated or undecided), laws, lengths, kinds, delays, all_ends, excluded, own_faults, left_out (kinds
// that were not tried, and why), interrupted, open, and the counterexample, null if there is none: law, cause, delay, and its run as JSON
// gives it. A length has its faults, starts, schedules, idle (those whose last fault struck nothing), placements (for which
// the schedules stand) and whole (all were tried).
func VerifyJSON(v *Verification) ([]byte, error) {
	o := document("verify")
	o.field("scenario", v.Scenario)
	o.field("faults", v.Faults)
	o.field("seed", v.Seed)
	o.field("outcome", v.standing())
	o.key("laws")
	o.open('{')
	for i := range v.Laws {
		l := &v.Laws[i]
		o.key(l.Law)
		o.open('{')
		o.lawCounts(l)
		o.close('}')
	}
	o.close('}')
	o.list("lengths", len(v.Lengths), func(i int) { o.verifiedLength(&v.Lengths[i]) })
	o.key("kinds")
	o.open('{')
	for _, k := range v.Kinds {
		o.key(k.Kind)
		o.open('{')
		o.field("starts", k.Starts)
		o.field("schedules", k.Schedules)
		o.close('}')
	}
	o.close('}')
	o.strings("delays", v.Delays)
	o.field("all_ends", v.AllEnds)
	o.strings("excluded", v.Excluded)
	o.strings("own_faults", v.Own)
	o.key("left_out")
	o.open('{')
	for _, g := range v.LeftOut {
		o.field(g.Kind, g.Why)
	}
	o.close('}')
	o.field("interrupted", v.Interrupted)
	o.strings("open", v.Open)
	o.verifiedViolation(v.Found)
	o.close('}')
	return o.done()
}

func (o *object) verifiedLength(l *VerifiedLength) {
	o.open('{')
	o.field("faults", l.Faults)
	o.field("starts", l.Starts)
	o.field("schedules", l.Schedules)
	o.field("idle", l.Idle)
	o.field("placements", l.Stands)
	o.field("whole", l.Whole)
	o.close('}')
}

func (o *object) verifiedViolation(f *VerifiedViolation) {
	if f == nil {
		o.field("counterexample", nil)
		return
	}
	o.key("counterexample")
	o.open('{')
	o.field("law", f.Law)
	o.field("cause", f.Cause)
	o.field("delay", f.Delay)
	o.key("run")
	o.run(f.Run)
	o.close('}')
}
