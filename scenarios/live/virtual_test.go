package live

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios"
)

func TestTry(t *testing.T) {
	s, err := scenarios.Named("fenced-gc-pause")
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewVirtual(s, "/usr/bin/python3 workers/redis-py/worker.py fenced")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for i := range 30 {
		at := time.Now()
		p := s.Plan(uint64(i + 1))
		r, err := v.Run(s, p, false)
		t.Log(err, r.Digest, r.Events, r.Limited, time.Since(at))
		if err == nil && i == 0 {
			for _, e := range r.History.Events {
				t.Log(e.Time.Duration(), e.Process, e.F, e.Type, e.Attempt, e.Value)
			}
			t.Log(s.Judge(r))
		}
	}
}
