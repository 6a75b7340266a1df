package live

import (
	"syscall"
	"testing"

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
	cpu := func() (float64, float64, int64) {
		var a, b syscall.Rusage
		syscall.Getrusage(0, &a)
		syscall.Getrusage(-1, &b)
		return float64(a.Utime.Nano()+a.Stime.Nano()) / 1e6, float64(b.Utime.Nano()+b.Stime.Nano()) / 1e6, b.Minflt
	}
	for i := range 12 {
		a, b, f := cpu()
		p := s.Plan(uint64(i + 2))
		r, err := v.carryOut(s, p, false)
		a2, b2, f2 := cpu()
		t.Log(err, r.Digest, r.Events, a2-a, b2-b, f2-f)
	}
}
