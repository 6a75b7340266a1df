package reports

import "fmt"

// CompareJSON gives a comparison as one JSON object, ended by a newline: schema, command, seeds, delay, retry, clients, model, faults,
// interrupted, locks. Each lock has its article (what the documents claim), alone and together (times in ns, rates per second) and its
// cells. A cell has its fault, fencing, and absent (why it was not run) or else survives, a tally of each of four laws, and the
// scenario with its file's text and the command that repeats it.
func CompareJSON(c *Comparison) ([]byte, error) {
	o := document("compare")
	o.field("seeds", c.Seeds)
	o.field("delay", c.Delay)
	o.field("retry", c.Retry)
	o.field("clients", c.Clients)
	o.field("model", c.Model)
	o.key("faults")
	o.open('[')
	for _, t := range c.Troubles {
		o.open('{')
		o.field("name", t.Name)
		o.field("text", t.Text)
		o.close('}')
	}
	o.close(']')
	o.field("interrupted", c.Interrupted)
	o.key("locks")
	o.open('[')
	for i := range c.Locks {
		o.comparedLock(c, &c.Locks[i])
	}
	o.close(']')
	o.close('}')
	return o.done()
}

func (o *object) comparedLock(c *Comparison, l *ComparedLock) {
	o.open('{')
	o.field("name", l.Name)
	o.field("title", l.Title)
	o.field("text", l.Text)
	o.key("article")
	o.open('{')
	o.field("latency", l.ClaimLatency)
	o.field("throughput", l.ClaimThroughput)
	o.close('}')
	o.key("alone")
	o.comparedTiming(c, &l.Alone)
	o.key("together")
	o.comparedTiming(c, &l.Together)
	o.key("cells")
	o.open('[')
	for i := range l.Cells {
		o.comparedCell(c, &l.Cells[i])
	}
	o.close(']')
	o.close('}')
}

func (o *object) comparedTiming(c *Comparison, t *ComparedTiming) {
	o.open('{')
	o.field("acquires", t.Acquires)
	o.field("first_p50_ns", t.First.Nanoseconds())
	o.field("p50_ns", t.P50.Nanoseconds())
	o.field("p99_ns", t.P99.Nanoseconds())
	o.field("cycles_per_second", t.PerSecond)
	o.field("requests_per_lock", t.Requests)
	o.scenarioFile(c, t.Scenario, t.Text)
	o.close('}')
}

func (o *object) comparedCell(c *Comparison, cell *ComparedCell) {
	o.open('{')
	o.field("fault", cell.Trouble)
	o.field("fencing", cell.Fencing)
	o.field("absent", cell.Absent)
	if cell.Absent == "" {
		o.field("survives", cell.Survives())
		o.key("laws")
		o.open('{')
		for i, t := range cell.tallies() {
			o.key(string(comparedLaws[i]))
			o.open('{')
			o.field("holds", t.Holds)
			o.field("violated", t.Violated)
			o.field("undecided", t.Undecided)
			o.field("unchecked", t.Unchecked)
			o.notRun(t)
			o.close('}')
		}
		o.close('}')
		o.scenarioFile(c, cell.Scenario, cell.Text)
	}
	o.close('}')
}

// notRun says how many runs an interruption left out, if it did.
func (o *object) notRun(t LawTally) {
	if t.NotRun > 0 {
		o.field("not_run", t.NotRun)
	}
}

// scenarioFile is where a figure comes from.
func (o *object) scenarioFile(c *Comparison, name, text string) {
	file := name + ".yaml"
	if c.Files != "" {
		file = c.Files + "/" + file
	}
	o.field("scenario", name)
	o.field("repeat", fmt.Sprintf("fencepost run %s --seeds %d", file, c.Seeds))
	o.field("file", text)
}
