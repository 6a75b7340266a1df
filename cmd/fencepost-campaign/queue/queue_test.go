package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/embedded"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// serve starts a server for a test.
func serve(t *testing.T, o embedded.Options) *embedded.Server {
	t.Helper()
	if o.Folder == "" {
		o.Folder = filepath.Join(t.TempDir(), "nats")
	}
	s, err := embedded.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func connect(t *testing.T, at access.Server) *nats.Conn {
	t.Helper()
	nc, err := at.Connect(t.Name(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// impatient is the value of Patience in tests. It is short, so that a process that is killed is replaced quickly.
const impatient = 500 * time.Millisecond

func create(t *testing.T, nc *nats.Conn, name, what string) *Campaign {
	t.Helper()
	c, err := Create(t.Context(), nc, name, json.RawMessage(what), map[string][]byte{"a": []byte("content")}, impatient)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// count is a two-stage search for tests. Each job is the number of its position. The first stage adds up these numbers.
// The second stage multiplies each number by this sum and adds up the products. The result is wrong if any position is
// counted twice or not at all.
func count(size uint64) func(context.Context, campaign.Hands) (string, error) {
	return func(ctx context.Context, hands campaign.Hands) (string, error) {
		sum := tally{}
		if err := hands.Do(ctx, campaign.Stage{Name: "numbers", Spec: []byte("1"), Size: size, Portion: 7},
			sum.take); err != nil {
			return "", err
		}
		products := tally{}
		err := hands.Do(ctx, campaign.Stage{Name: "products of numbers", Spec: fmt.Append(nil, sum.Sum), Size: size,
			Portion: 5}, products.take)
		return fmt.Sprintf("%+v %+v", sum, products), err
	}
}

// tally is the result of one portion, and also the sum of such results.
type tally struct {
	Sum, Positions, Lost uint64
	reasons              string
}

func (t *tally) take(p campaign.Part) error {
	if p.Lost != "" {
		t.Lost += p.Size
		t.reasons += p.Lost
		return nil
	}
	var part tally
	if err := json.Unmarshal(p.Value, &part); err != nil {
		return err
	}
	if part.Positions != p.Size {
		return fmt.Errorf("%d positions in a part of %d", part.Positions, p.Size)
	}
	t.Sum += part.Sum
	t.Positions += part.Positions
	return nil
}

// counter is the worker for the count search. It calls before, if set, before each position.
type counter struct {
	before func(ctx context.Context, s campaign.Stage, at uint64) error
}

func (w counter) Make(ctx context.Context, s campaign.Stage, first, size uint64) ([]byte, error) {
	var factor uint64
	if _, err := fmt.Sscan(string(s.Spec), &factor); err != nil {
		return nil, err
	}
	part := tally{}
	for at := first; at < first+size; at++ {
		if w.before != nil {
			if err := w.before(ctx, s, at); err != nil {
				return nil, err
			}
		}
		part.Sum += factor * at
		part.Positions++
	}
	return json.Marshal(part)
}

// alone is a campaign.Hands in which one worker does everything.
type alone struct{ w campaign.Worker }

func (h alone) Do(ctx context.Context, s campaign.Stage, take func(campaign.Part) error) error {
	value, err := h.w.Make(ctx, s, 0, s.Size)
	if err != nil {
		return err
	}
	return take(campaign.Part{Size: s.Size, Value: value})
}

func expected(t *testing.T, size uint64) string {
	t.Helper()
	want, err := count(size)(t.Context(), alone{counter{}})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// crew is a test's set of worker processes, each with its own connection.
type crew struct {
	t   *testing.T
	at  access.Server
	all sync.WaitGroup
	ids atomic.Int64
}

func newCrew(t *testing.T, at access.Server) *crew {
	k := &crew{t: t, at: at}
	t.Cleanup(k.all.Wait)
	return k
}

// work starts a worker, which runs until the campaign is over or ctx is done. It calls the given function to create the
// worker, passing it a function that kills the worker.
func (k *crew) work(ctx context.Context, name string, worker func(kill func()) campaign.Worker) {
	id := fmt.Sprintf("worker-%d", k.ids.Add(1))
	k.all.Go(func() {
		nc, err := k.at.Connect(id, nil)
		if err != nil {
			k.t.Error(err)
			return
		}
		defer nc.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		c, err := Open(ctx, nc, name)
		if err != nil {
			k.t.Error(err)
			return
		}
		h, err := c.Join(ctx, id, Present{Host: "here"})
		if err != nil {
			k.t.Error(err)
			return
		}
		var killed atomic.Bool
		kill := func() { // send nothing more, as after a kill
			killed.Store(true)
			nc.Close()
			cancel()
		}
		if err := h.Work(ctx, worker(kill)); err != nil && !killed.Load() && !errors.Is(err, context.Canceled) {
			k.t.Error(err)
		}
	})
}

func honest(func()) campaign.Worker { return counter{} }

// result coordinates a campaign and returns the result of count.
func result(ctx context.Context, c *Campaign, by string, size uint64) (text string, err error) {
	err = c.Coordinate(ctx, by, func(ctx context.Context, d *Director) error {
		text, err = count(size)(ctx, d)
		return err
	})
	return text, err
}

func TestACampaignComesToWhatOneProcessDoes(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	const size = 1000
	c := create(t, connect(t, s.Access), "counted", "{}")
	k := newCrew(t, s.Access)
	for range 4 {
		k.work(t.Context(), "counted", honest)
	}
	got, err := result(t.Context(), c, "first", size)
	if want := expected(t, size); err != nil || got != want {
		t.Fatalf("%s, %v; want %s", got, err, want)
	}
	// Any process can compute the same outcome from the stored results, without running anything again.
	again, err := count(size)(t.Context(), c.Stored())
	if err != nil || again != got {
		t.Errorf("stored: %s, %v; want %s", again, err, got)
	}
	p, err := c.Progress(t.Context())
	if err != nil || len(p.Stages) != 2 || !p.Stages[0].Complete() || !p.Stages[1].Complete() {
		t.Errorf("progress %+v, %v", p, err)
	}
	// By the time the workers have exited, each has reported how many positions it completed. The sum may exceed the
	// total, because a portion can be delivered twice.
	k.all.Wait()
	state, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var made uint64
	for _, w := range state.Workers {
		if made += w.Made; w.Here || !w.Ended {
			t.Errorf("%+v", w)
		}
	}
	if len(state.Workers) != 4 || made < 2*size {
		t.Errorf("%d workers made %d", len(state.Workers), made)
	}
}

// TestWhoeverDiesIsReplaced checks that another worker takes over the portion that a dying worker was working on, no
// matter when it dies. If a coordinator dies, another process must take over its work.
func TestWhoeverDiesIsReplaced(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	const size = 600
	create(t, connect(t, s.Access), "mortal", "{}")
	k := newCrew(t, s.Access)
	random := rand.New(rand.NewPCG(1, 2))
	killAt := map[uint64]bool{} // each position kills the first worker that reaches it
	for range 20 {
		killAt[random.Uint64N(size)] = true
	}
	var mu sync.Mutex
	var mortal func(kill func()) campaign.Worker
	mortal = func(kill func()) campaign.Worker {
		return counter{before: func(ctx context.Context, s campaign.Stage, at uint64) error {
			mu.Lock()
			defer mu.Unlock()
			if s.Name != "numbers" || !killAt[at] {
				return nil
			}
			delete(killAt, at)
			kill()
			k.work(t.Context(), "mortal", mortal)
			return errors.New("killed")
		}}
	}
	for range 2 {
		k.work(t.Context(), "mortal", mortal)
	}
	var got string
	for died := 0; got == ""; died++ {
		nc, err := s.Access.Connect("coordinator", nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(t.Context(), nc, "mortal")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = c.Coordinate(ctx, fmt.Sprint("coordinator ", died), func(ctx context.Context, d *Director) error {
			parts := 0
			d.Rule = func(Progress) string {
				if parts++; parts == 40 && died < 3 {
					nc.Close()
					cancel()
				}
				return ""
			}
			got, err = count(size)(ctx, d)
			return err
		})
		cancel()
		nc.Close()
		if err != nil {
			got = ""
		}
	}
	if want := expected(t, size); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if mu.Lock(); len(killAt) > 0 {
		t.Errorf("nobody was killed at %v", killAt)
	}
	mu.Unlock()
}

// TestTwoCoordinatorsDoNoHarm checks that two processes that coordinate at the same time get the same result. Each of
// them behaves as if it had wrongly concluded that the other one was dead.
func TestTwoCoordinatorsDoNoHarm(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	const size = 500
	c := create(t, connect(t, s.Access), "twice", "{}")
	k := newCrew(t, s.Access)
	for range 2 {
		k.work(t.Context(), "twice", honest)
	}
	var all sync.WaitGroup
	var got [2]string
	for i := range got {
		all.Go(func() {
			d, err := c.direct(t.Context())
			if err == nil {
				got[i], err = count(size)(t.Context(), d)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if want := expected(t, size); got[0] != want || got[1] != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := result(t.Context(), c, "last", size); err != nil {
		t.Error(err)
	}
}

// TestAPositionThatKillsIsSetAside runs a job at position 123 that kills every worker that executes it. It must be set
// aside after three deaths, and all other jobs must be completed. The job at position 321 fails with an error, which
// must be recorded as the reason for the loss.
func TestAPositionThatKillsIsSetAside(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	const size, kills, fails = 500, 123, 321
	c := create(t, connect(t, s.Access), "poisoned", "{}")
	k := newCrew(t, s.Access)
	var deadly func(kill func()) campaign.Worker
	alone := atomic.Int64{}
	deadly = func(kill func()) campaign.Worker {
		return counter{before: func(ctx context.Context, s campaign.Stage, at uint64) error {
			if s.Name == "numbers" && at == kills {
				alone.Add(1)
				kill()
				k.work(t.Context(), "poisoned", deadly)
				return errors.New("killed")
			}
			if s.Name == "numbers" && at == fails {
				return errors.New("it cannot be made")
			}
			return nil
		}}
	}
	for range 2 {
		k.work(t.Context(), "poisoned", deadly)
	}
	sum := tally{}
	err := c.Coordinate(t.Context(), "first", func(ctx context.Context, d *Director) error {
		sum = tally{}
		return d.Do(ctx, campaign.Stage{Name: "numbers", Spec: []byte("1"), Size: size, Portion: 8}, sum.take)
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Lost != 2 || sum.Positions != size-2 || sum.Sum != size*(size-1)/2-kills-fails {
		t.Errorf("%+v", sum)
	}
	for _, why := range []string{"3 workers died while working on it", "it cannot be made"} {
		if !strings.Contains(sum.reasons, why) {
			t.Errorf("%q does not say: %s", sum.reasons, why)
		}
	}
	// A portion of eight positions is split three times until only one is left, giving portions of eight, four, two and
	// one positions. Three workers die on each of these four portions.
	if n := alone.Load(); n != 3*4 {
		t.Errorf("%d workers were killed, want 12", n)
	}
}
