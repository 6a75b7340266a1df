package reports

// AdviseJSON gives advice as one JSON object, ended by a newline: scenario, outcome (nothing broken, can be saved, not
// saved or undecided), own_faults, explored (random plans run), plans (the faults that broke the lock), runs,
// fresh_runs and other_runs (how often each change was tried), broken (law, causes, runs and fresh_runs that broke it,
// nature), cost (of the lock as it is), changes, best first, tried (singles and pairs), interrupted, open, file, diff,
// files and repeat. A change has its changes, keeps (every promise that can be kept), mends, leaves, breaks (law and
// cause), otherwise (what else breaks the mended laws under fresh faults, as before), gives_up, spared, cost and file.
// A cost has acquire_ns, requests, servers and lease_ns (for which a holder that has crashed keeps the others out; 0:
// for ever).
func AdviseJSON(a *Advice) ([]byte, error) {
	o := document("advise")
	o.field("scenario", a.Scenario)
	o.field("outcome", a.outcome())
	o.field("own_faults", a.Own)
	o.field("explored", a.Explored)
	o.strings("plans", a.Plans)
	o.field("runs", a.Runs)
	o.field("fresh_runs", a.Fresh)
	o.field("other_runs", a.Others)
	o.list("broken", len(a.Broken), func(i int) {
		l := &a.Broken[i]
		o.open('{')
		o.field("law", l.Law)
		o.strings("causes", l.Causes)
		o.field("runs", l.Runs)
		o.field("fresh_runs", l.Fresh)
		o.field("nature", l.Nature)
		o.close('}')
	})
	o.advisedCost(a.Base)
	o.list("changes", len(a.Changes), func(i int) { o.advisedChange(&a.Changes[i]) })
	o.key("tried")
	o.open('{')
	o.field("singles", a.Singles)
	o.field("pairs", a.Pairs)
	o.close('}')
	o.field("interrupted", a.Interrupted)
	o.strings("open", a.Open)
	o.field("file", a.File)
	o.field("diff", a.Diff)
	o.field("files", a.Files)
	o.field("repeat", a.Repeat)
	o.close('}')
	return o.done()
}

func (o *object) advisedCost(c AdvisedCost) {
	o.key("cost")
	o.open('{')
	o.field("acquire_ns", int64(c.Acquire))
	o.field("requests", c.Requests)
	o.field("servers", c.Servers)
	o.field("lease_ns", int64(c.Lease))
	o.close('}')
}

func (o *object) advisedChange(c *AdvisedChange) {
	o.open('{')
	o.strings("changes", c.Changes)
	o.field("keeps", c.Keeps)
	o.strings("mends", c.Mends)
	o.strings("leaves", c.Leaves)
	o.advisedBreaches("breaks", c.Breaks)
	o.advisedBreaches("otherwise", c.Else)
	o.field("gives_up", c.GivesUp)
	o.strings("spared", c.Spared)
	o.advisedCost(c.Cost)
	o.field("file", c.File)
	o.close('}')
}

func (o *object) advisedBreaches(key string, list []AdvisedBreach) {
	o.list(key, len(list), func(i int) {
		o.open('{')
		o.field("law", list[i].Law)
		o.field("cause", list[i].Cause)
		o.close('}')
	})
}
