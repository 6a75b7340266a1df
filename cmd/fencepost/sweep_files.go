package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/reports"
)

// write leaves the result as JSON, a map of each law as SVG and PNG, and the page if it is asked for.
func (j *sweepJob) write(s *reports.Sweep) error {
	text, err := reports.SweepJSON(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(j.out, "sweep.json"), text, 0o666); err != nil {
		return err
	}
	for i := range s.Laws {
		base := filepath.Join(j.out, "sweep-"+string(s.Laws[i].Law))
		if err := writeFile(base+".svg", func(w io.Writer) error { return reports.SweepSVG(w, s, &s.Laws[i]) }); err != nil {
			return err
		}
		if err := writeFile(base+".png", func(w io.Writer) error { return reports.SweepPNG(w, s, &s.Laws[i]) }); err != nil {
			return err
		}
	}
	if j.html == "" {
		return nil
	}
	return writeFile(j.html, func(w io.Writer) error { return reports.SweepHTML(w, s) })
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
	return suite
}
