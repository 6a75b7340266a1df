package reports

import "github.com/fencepost-sim/fencepost/checker"

// ListedScenario is a scenario of the catalogue, and what must come of it.
type ListedScenario struct {
	Section, Name, Summary, Source string
	Laws                           []ExpectedLaw
	Metrics                        []ExpectedMetric
}

// ExpectedLaw is how a law must come out; Cause is empty unless one is named.
type ExpectedLaw struct {
	Law            checker.Law
	Outcome, Cause string
}

// ExpectedMetric is the bound that a metric must keep, as the scenario writes it.
type ExpectedMetric struct{ Name, Bound string }

// ListJSON gives scenarios of the catalogue as one JSON object, ended by a newline: schema, command and scenarios, each
// with
// section, name, summary, source, laws (outcome and cause of each that is named) and metrics (the bound of each).
func ListJSON(scenarios []ListedScenario) ([]byte, error) {
	o := document("list")
	o.list("scenarios", len(scenarios), func(i int) {
		s := &scenarios[i]
		o.open('{')
		o.field("section", s.Section)
		o.field("name", s.Name)
		o.field("summary", s.Summary)
		o.field("source", s.Source)
		o.key("laws")
		o.open('{')
		for _, l := range s.Laws {
			o.key(string(l.Law))
			o.open('{')
			o.field("outcome", l.Outcome)
			o.field("cause", l.Cause)
			o.close('}')
		}
		o.close('}')
		o.key("metrics")
		o.open('{')
		for _, m := range s.Metrics {
			o.field(m.Name, m.Bound)
		}
		o.close('}')
		o.close('}')
	})
	o.close('}')
	return o.done()
}

// Version is what the program was built from.
type Version struct {
	Module, Version string
	Revision, Time  string // of the commit, the time in RFC 3339; empty if the build did not record them
	Modified        bool   // the work tree had changes
	Go              string // the version of the tool chain
}

// VersionJSON gives a version as one JSON object, ended by a newline: schema, command, module, version, revision, time,
// modified, go.
func VersionJSON(v *Version) ([]byte, error) {
	o := document("version")
	o.field("module", v.Module)
	o.field("version", v.Version)
	o.field("revision", v.Revision)
	o.field("time", v.Time)
	o.field("modified", v.Modified)
	o.field("go", v.Go)
	o.close('}')
	return o.done()
}
