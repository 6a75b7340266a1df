package store

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// slowFile is the state of a reimplementation of Redis's flushAppendOnlyFile (aof.c). Its flush method follows that
// function line by line, and is called every millisecond and after every write.
type slowFile struct {
	now, offset              int64 // in ms; offset is the wall clock minus now
	buffered                 int
	written, covered, synced int
	running                  bool
	runEnd, cost             int64
	unit                     int64 // unit in which Redis counts the wall clock, in ms: 1000 in 7.0, 1 in 8
	last                     int64 // aof_last_fsync, in units of the wall clock
	postponed                int64 // aof_flush_postponed_start, in units of the wall clock; −1 if unset
}

func (s *slowFile) flush() {
	if s.running && s.runEnd <= s.now {
		s.running, s.synced = false, s.covered
	}
	wall := (s.now + s.offset) / s.unit
	due := wall-s.last >= 1000/s.unit
	if s.buffered == 0 {
		if s.covered == s.written || !due || s.running {
			return
		}
	} else if s.running {
		if s.postponed < 0 {
			s.postponed = wall
		}
		if wall-s.postponed < 2000/s.unit {
			return
		}
	}
	if s.buffered > 0 {
		s.written += s.buffered
		s.buffered, s.postponed = 0, -1
	}
	if due {
		if !s.running {
			s.running, s.covered, s.runEnd = true, s.written, s.now+s.cost
		}
		s.last = wall
	}
	if s.running && s.runEnd <= s.now {
		s.running, s.synced = false, s.covered
	}
}

// TestEverysecIsComputedAsRedisDoesItStepByStep compares File with slowFile: at every millisecond in random runs, both
// must agree on what is on disk.
func TestEverysecIsComputedAsRedisDoesItStepByStep(t *testing.T) {
	const ms = int64(time.Millisecond)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		cost := []int64{0, 1, 300, 1500, 5000}[r.IntN(5)]
		busy := 1 + r.IntN(900)
		unit := []int64{1000, 1}[seed%2]
		slow := &slowFile{offset: 10_000, unit: unit, last: 10_000 / unit, postponed: -1, cost: cost}
		var fast File
		fast.Start(Everysec, time.Duration(cost*ms), time.Duration(unit*ms), 0, 10_000*ms)
		for ; slow.now < 12_000 && !t.Failed(); slow.now++ {
			slow.flush()
			if r.IntN(4000) == 0 {
				jump := int64(r.IntN(6000) - 3000)
				slow.offset += jump
				fast.ClockChanged(slow.now*ms, (slow.now+slow.offset)*ms)
				slow.flush()
			}
			if r.IntN(3000) == 0 {
				slow.cost += 700
				fast.Slow(slow.now*ms, 700*time.Millisecond)
			}
			if r.IntN(busy) == 0 {
				slow.buffered++
				slow.flush()
				fast.effects = append(fast.effects, Effect{})
				fast.Commit(slow.now * ms)
			}
			if r.IntN(10) > 0 {
				continue // usually skip the check, so that File must catch up later
			}
			fast.advance(slow.now * ms)
			if fast.synced != slow.synced || fast.written != slow.written || fast.running != slow.running {
				t.Errorf("seed %d at %d ms: computed %d synced, %d written, running %v; Redis %d, %d, %v", seed,
					slow.now, fast.synced, fast.written, fast.running, slow.synced, slow.written, slow.running)
			}
		}
	}
}

// TestSettledForeseesWhatAPowerLossWouldTakeAtEachMillisecond compares the times returned by Settled with what a power
// loss at each millisecond would destroy.
func TestSettledForeseesWhatAPowerLossWouldTakeAtEachMillisecond(t *testing.T) {
	const ms = int64(time.Millisecond)
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		policy := []Policy{Everysec, No, Always, None}[r.IntN(4)]
		cost := []int64{0, 1, 700, 2500}[r.IntN(4)]
		var file File
		file.Start(policy, time.Duration(cost*ms), time.Second, 0, 10_000*ms)
		now := int64(0)
		for range r.IntN(6) {
			now += int64(r.IntN(1500))
			file.effects = append(file.effects, Effect{At: now * ms})
			file.Commit(now * ms)
		}
		kept := func(at int64) int {
			lost := file
			lost.effects = append([]Effect(nil), file.effects...)
			lost.Crash(at)
			return len(lost.effects)
		}
		horizon := int64(8_000)
		if policy == No {
			horizon = 31_000
		}
		var want []int64
		for at := now + 1; at <= now+horizon; at++ {
			if kept(at*ms) > kept((at-1)*ms) {
				want = append(want, at*ms)
			}
		}
		var got []int64
		for _, at := range file.Settled((now + horizon) * ms) {
			if len(got) == 0 || got[len(got)-1] < int64(at) {
				got = append(got, int64(at))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d, %v, fsync %d ms, now %d ms: foreseen %v, seen %v", seed, policy, cost, now, got, want)
		}
	}
}
