package shrink

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/nemesis/nemesistest"
)

func newGenerator(t *testing.T, change func(*draw.Mix)) *draw.Generator {
	t.Helper()
	m := draw.Default()
	if change != nil {
		change(&m)
	}
	g, err := draw.NewGenerator(m, nemesistest.Names, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustParse(t *testing.T, line string) nemesis.Fault {
	t.Helper()
	f, err := nemesis.Parse(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return f
}
