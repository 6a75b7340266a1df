package libraries

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

func TestLibraries(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			locktest.Run(t, locktest.Config{Servers: l.Servers, TTL: TTL, New: l.New, Seeds: 40,
				Faults: locktest.Pauses})
		})
	}
}
