package zookeeper_test

import (
	"testing"
	"time"
)

// BenchmarkSchedule measures complete runs with three members and two clients, each of which acquires a lock twice.
// The runs are recorded but not checked.
func BenchmarkSchedule(b *testing.B) {
	s := newService(b, 1)
	events, seed := 0, uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		seed++
		s.rerun(seed)
		for n := range 2 {
			s.locker(n+1, 0, func(k *worker) { k.cycles = 2 })
		}
		s.run(time.Minute)
		events += s.Events()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "schedules/s")
	b.ReportMetric(float64(events)/float64(b.N), "events/schedule")
}
