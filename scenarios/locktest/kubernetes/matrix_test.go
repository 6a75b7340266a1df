package kubernetes

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestMatrix runs each client under each family of faults if -update is set.
func TestMatrix(t *testing.T) { matrixtest.Run(t, clients, matrixtest.Families) }

// TestFindings replays the findings stored by TestMatrix.
func TestFindings(t *testing.T) { matrixtest.Replay(t, clients) }

// The titles of the reasons explained in README.md.
const (
	paused    = "A leader that stands still past its lease"
	lateWrite = "A write that comes late"
)

var reasons = matrixtest.Reasons{
	"election mutual-exclusion: holder outlived its lease (pause)":           paused,
	"election resource-safety: superseded holder took effect":                lateWrite,
	"release-on-cancel mutual-exclusion: holder outlived its lease (pause)":  paused,
	"release-on-cancel resource-safety: superseded holder took effect":       lateWrite,
	"release-on-cancel-pauses-resource-safety-superseded-holder-took-effect": paused,
}

// TestTable checks that README.md lists the findings in testdata and their reasons.
func TestTable(t *testing.T) {
	matrixtest.Table(t, "README.md", "matrix", clients, matrixtest.Families, reasons)
}
