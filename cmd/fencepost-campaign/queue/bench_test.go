package queue

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/embedded"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// BenchmarkParts measures how many results (one per range of jobs) a server stores per second for eight workers that do
// nothing else. The server does not acknowledge a result until it has written it to its disk.
func BenchmarkParts(b *testing.B) {
	s, err := embedded.Start(embedded.Options{Folder: filepath.Join(b.TempDir(), "nats")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	nc, err := s.Access.Connect("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	c, err := Create(context.Background(), nc, "bench", []byte("{}"), nil, impatient)
	if err != nil {
		b.Fatal(err)
	}
	next := make(chan uint64)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for at := range next {
				if err := c.store(context.Background(), "seeds", campaign.Part{First: at, Size: 1,
					Value: make([]byte, 2048)}, 0); err != nil {
					b.Error(err)
				}
			}
		})
	}
	at := uint64(0)
	for b.Loop() {
		next <- at
		at++
	}
	close(next)
	all.Wait()
	b.ReportMetric(float64(at)/b.Elapsed().Seconds(), "parts/s")
}
