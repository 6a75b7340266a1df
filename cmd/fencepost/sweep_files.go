package main

import (
	"bytes"
	"io"

	"github.com/fencepost-sim/fencepost/cmd/fencepost/artefact"
	"github.com/fencepost-sim/fencepost/reports"
)

// sweepFile is the result of a sweep as JSON, in its folder.
const sweepFile = "sweep.json"

// write leaves the result as JSON, a map of each law as SVG and PNG, and the page if it is asked for.
func (j *sweepJob) write(s *reports.Sweep) {
	text, err := reports.SweepJSON(s)
	if j.files.Fail(err); err == nil {
		j.files.Keep(artefact.File{Name: sweepFile, Content: text})
	}
	for i := range s.Laws {
		base := "sweep-" + string(s.Laws[i].Law)
		j.draw(base+".svg", func(w io.Writer) error { return reports.SweepSVG(w, s, &s.Laws[i]) })
		j.draw(base+".png", func(w io.Writer) error { return reports.SweepPNG(w, s, &s.Laws[i]) })
	}
	if j.html != "" {
		writePage(j.files, j.html, func(w io.Writer) error { return reports.SweepHTML(w, s) })
	}
}

// draw leaves a picture in the folder.
func (j *sweepJob) draw(name string, picture func(io.Writer) error) {
	var b bytes.Buffer
	err := picture(&b)
	if j.files.Fail(err); err == nil {
		j.files.Keep(artefact.File{Name: name, Content: b.Bytes()})
	}
}

// sweepSuite is what a CI system counts: each assertion, and each law with its edges.
func sweepSuite(s *reports.Sweep) reports.Suite {
	suite := reports.Suite{Name: "sweep " + s.Scenario, Repeat: s.Repeat}
	for i := range s.Assertions {
		suite.Cases = append(suite.Cases, s.Assertions[i].Case(s))
	}
	for i := range s.Laws {
		suite.Cases = append(suite.Cases, s.Laws[i].Case(s))
	}
	suite.Cases = append(suite.Cases, reports.Interrupted(s.Scenario, s.Interrupted)...)
	return suite
}
