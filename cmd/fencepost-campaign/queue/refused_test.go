package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/embedded"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// A name refers to one campaign. Everything that the server has under this name must belong to that campaign.
func TestACampaignIsNotMixedWithAnother(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	nc := connect(t, s.Access)
	create(t, nc, "one", `{"a":1}`)
	create(t, nc, "one", `{"a":1}`) // create the same campaign again
	for name, what := range map[string]string{"what": `{"a":2}`, "patience": `{"a":1}`} {
		patience := impatient
		if name == "patience" {
			patience *= 2
		}
		_, err := Create(t.Context(), nc, "one", json.RawMessage(what), map[string][]byte{"a": []byte("content")},
			patience)
		if !errors.Is(err, ErrOther) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if _, err := Create(t.Context(), nc, "one", json.RawMessage(`{"a":1}`), map[string][]byte{"a": []byte("other")},
		impatient); !errors.Is(err, ErrOther) {
		t.Errorf("another content: %v", err)
	}
	if _, err := Open(t.Context(), nc, "two"); !errors.Is(err, ErrNone) {
		t.Errorf("a campaign that is not there: %v", err)
	}
	if _, err := Open(t.Context(), nc, "No Name"); err == nil || !strings.Contains(err.Error(), "lower-case") {
		t.Errorf("no name: %v", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: workOf("two"),
		Subjects: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), nc, "two", json.RawMessage("{}"), nil, impatient); err == nil ||
		!strings.Contains(err.Error(), "has a stream fencepost_two_work that belongs to no campaign") {
		t.Errorf("a stream of somebody else: %v", err)
	}
	names, err := List(t.Context(), nc)
	if err != nil || fmt.Sprint(names) != "[one two]" {
		t.Errorf("%v, %v", names, err)
	}
}

// When a campaign is removed, its workers end, and its name can be used again.
func TestARemovedCampaignIsGone(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	nc := connect(t, s.Access)
	c := create(t, nc, "gone", `{"a":1}`)
	h, err := c.Join(t.Context(), "worker", Present{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Work(t.Context(), counter{}); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("a worker of a campaign that was removed: %v", err)
	}
	if names, err := List(t.Context(), nc); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	create(t, nc, "gone", `{"a":2}`)
	if over, err := h.over(t.Context()); over || err == nil {
		t.Errorf("a worker of the campaign before: %v, %v", over, err)
	}
}

// Messages that do not belong to a campaign are set aside, even if they have the same subject as one of its results.
func TestMessagesThatNobodyUnderstandsArePutAside(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	nc := connect(t, s.Access)
	c := create(t, nc, "strange", "{}")
	const size = 300
	for _, m := range []struct{ subject, id string }{
		{"fencepost.strange.work.hello", ""},
		{"fencepost.strange.work.numbers.0.18446744073709551615", c.ID},
		{"fencepost.strange.work.numbers.1.18446744073709551615", c.ID},
		{"fencepost.strange.work.numbers.299.2", c.ID},
		{"fencepost.strange.work.numbers.4.2", "another"},
		{"fencepost.strange.work.letters.4.2", c.ID},
		{"fencepost.strange.work.numbers.4.0", c.ID},
		{"fencepost.strange.parts.numbers.0.7", ""}, // this is the subject of the first result
		{"fencepost.strange.parts.numbers.7.7", "another"},
		{"fencepost.strange.parts.numbers.299.7", c.ID},
		{"fencepost.strange.parts.numbers.x.7", c.ID},
	} {
		message := nats.NewMsg(m.subject)
		message.Data = []byte("what is this?")
		if m.id != "" {
			message.Header.Set(headerCampaign, m.id)
		}
		if _, err := c.js.PublishMsg(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	newCrew(t, s.Access).work(t.Context(), "strange", honest)
	got, err := result(t.Context(), c, "first", size)
	if want := expected(t, size); err != nil || got != want {
		t.Fatalf("%s, %v; want %s", got, err, want)
	}
	state, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Aside) != 11 {
		t.Errorf("put aside: %q, want 11", state.Aside)
	}
}

// A stored result that differs from what its worker wrote is set aside, and its portion is run again.
func TestDamagedPartsAreMadeAgain(t *testing.T) {
	t.Parallel()
	const size = 300
	damages := map[string]func(c *Campaign, m *nats.Msg){
		"cut short":       func(_ *Campaign, m *nats.Msg) { m.Data = m.Data[:len(m.Data)/2] },
		"empty":           func(_ *Campaign, m *nats.Msg) { m.Data = nil },
		"something else":  func(_ *Campaign, m *nats.Msg) { m.Data = []byte("garbage") },
		"another sum":     func(_ *Campaign, m *nats.Msg) { m.Data = []byte(`{"Sum":1,"Positions":1}`) },
		"copied":          func(c *Campaign, m *nats.Msg) { m.Subject = c.subjectOf(parts, "numbers", portion{14, 7}) },
		"overlapping":     func(c *Campaign, m *nats.Msg) { m.Subject = c.subjectOf(parts, "numbers", portion{3, 7}) },
		"called lost":     func(_ *Campaign, m *nats.Msg) { m.Header.Set(headerLost, "nobody made it") },
		"without its sum": func(_ *Campaign, m *nats.Msg) { m.Header.Del(headerSum) },
		"without its object": func(_ *Campaign, m *nats.Msg) {
			m.Header.Set(headerObject, sumOf([]byte("none")))
			m.Header.Set(headerSum, partSum(m.Subject, m.Header, m.Data))
		},
	}
	s := serve(t, embedded.Options{})
	nc := connect(t, s.Access)
	n := 0
	for how, damage := range damages {
		n++
		c := create(t, nc, fmt.Sprintf("damaged-%d", n), "{}")
		value, err := counter{}.Make(t.Context(), campaign.Stage{Spec: []byte("1")}, 7, 7)
		if err != nil {
			t.Fatal(err)
		}
		m := nats.NewMsg(c.subjectOf(parts, "numbers", portion{7, 7}))
		m.Data = value
		m.Header.Set(headerCampaign, c.ID)
		m.Header.Set(headerTook, "0")
		m.Header.Set(headerSum, partSum(m.Subject, m.Header, m.Data))
		damage(c, m)
		if _, err := c.js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		newCrew(t, s.Access).work(t.Context(), c.Name, honest)
		got, err := result(t.Context(), c, "first", size)
		if want := expected(t, size); err != nil || got != want {
			t.Fatalf("%s: %s, %v; want %s", how, got, err, want)
		}
		state, err := c.State(t.Context())
		if err != nil || len(state.Aside) != 1 || !strings.Contains(state.Aside[0], "damaged") {
			t.Errorf("%s: put aside: %q, %v", how, state.Aside, err)
		}
	}
}

// When its server comes back, a campaign continues with the stored results.
func TestAServerThatGoesAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "nats")
	s, err := embedded.Start(embedded.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	c := create(t, connect(t, s.Access), "patient", "{}")
	const size = 400
	again := make(chan *embedded.Server, 1)
	restart := func() {
		s.Close()
		next, err := embedded.Start(embedded.Options{Folder: folder})
		if err != nil {
			t.Error(err)
		}
		again <- next
	}
	k := newCrew(t, s.Access)
	gone := make(chan struct{})
	k.work(t.Context(), "patient", func(func()) campaign.Worker {
		return counter{before: func(_ context.Context, _ campaign.Stage, at uint64) error {
			if at == 100 {
				select {
				case <-gone:
				default:
					close(gone)
					restart()
				}
			}
			return nil
		}}
	})
	got, err := result(t.Context(), c, "first", size)
	k.all.Wait()
	(<-again).Close()
	if want := expected(t, size); err != nil || got != want {
		t.Fatalf("%s, %v; want %s", got, err, want)
	}
}

// If a NATS server is connected but does not answer, for example because its disk is full, a process reports this after
// a while. While requests are pending, any process that asks is told the reason.
func TestASilentServerIsReported(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	asked := connect(t, s.Access)
	c := create(t, connect(t, s.Access), "silent", "{}")
	said := 0
	c.Notice = func(string) { said++ }
	for _, one := range []struct {
		since time.Time
		err   error
		says  bool
	}{
		{time.Time{}, nats.ErrTimeout, false}, // the server may only be slow
		{time.Now().Add(-silent), nats.ErrTimeout, true},
		{time.Now().Add(-silent), nats.ErrDisconnected, false}, // the connection itself reports that the server is down
	} {
		w := wait{since: one.since}
		before := said
		w.failed(t.Context(), c, one.err)
		w.failed(t.Context(), c, one.err)
		why := access.Trouble(t.Context(), asked)
		times := 0
		if one.says {
			times = 1
		}
		if strings.Contains(why, "does not answer storage requests") != one.says || said-before != times {
			t.Errorf("%v since %v: said it %d times, and answered %q", one.err, one.since, said-before, why)
		}
		w.end()
		if why := access.Trouble(t.Context(), asked); why != "" {
			t.Errorf("%v is answered when nothing waits any more", why)
		}
	}
}

// While the server is full, results wait and the user is notified. Once there is room again, nothing is missing.
func TestAFullServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{MaxStore: 1 << 20})
	nc := connect(t, s.Access)
	c := create(t, nc, "full", "{}")
	told := make(chan string, 1)
	c.Notice = func(text string) {
		select {
		case told <- text:
		default:
		}
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ballast",
		Subjects: []string{"ballast"}}); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = js.Publish(t.Context(), "ballast", make([]byte, 16<<10))
	}
	if !full(err) {
		t.Fatal(err)
	}
	const size = 200
	newCrew(t, s.Access).work(t.Context(), "full", honest)
	over := make(chan error, 1)
	var got string
	go func() {
		var err error
		got, err = result(t.Context(), c, "first", size)
		over <- err
	}()
	select {
	case text := <-told:
		if why := access.Trouble(t.Context(), nc); why != text || !strings.Contains(text, "the server is full") {
			t.Errorf("said %q, and answered %q to who asked", text, why)
		}
	case err := <-over:
		t.Fatal("it was over though nothing could be stored", err)
	}
	if err := js.DeleteStream(t.Context(), "ballast"); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	if want := expected(t, size); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// If a stage is ended early, by a user's request or by a rule, every process counts the same results, and the search
// continues with them.
func TestAStageEndedEarlyIsTheSameForAll(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	nc := connect(t, s.Access)
	const size = 1000
	for _, by := range []string{"rule", "request"} {
		c := create(t, nc, by, "{}")
		newCrew(t, s.Access).work(t.Context(), by, func(func()) campaign.Worker {
			return counter{before: func(ctx context.Context, s campaign.Stage, at uint64) error {
				if s.Name == "numbers" && at > size/2 {
					<-ctx.Done() // the portion is abandoned when the stage is ended
				}
				return nil
			}}
		})
		var got string
		err := c.Coordinate(t.Context(), "first", func(ctx context.Context, d *Director) error {
			d.Rule = func(p Progress) string {
				switch s := p.Stage(); {
				case s.Name != "numbers" || s.Done < 50:
				case by == "rule":
					return "fifty are enough"
				case p.Stop == "":
					c.Stop(ctx, "somebody asked for it")
				}
				if p.Stage().Name == "numbers" {
					return p.Stop
				}
				return ""
			}
			var err error
			got, err = count(size)(ctx, d)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		d := c.Stored()
		again, err := count(size)(t.Context(), d)
		if err != nil || again != got {
			t.Errorf("%s: %s, %v; want %s", by, again, err, got)
		}
		p := d.Progress()
		want := map[string]string{"rule": "fifty are enough", "request": "somebody asked for it"}[by]
		if p.Stages[0].Ended != want || p.Stages[0].Complete() || p.Stages[0].Done < 50 || !p.Stages[1].Complete() {
			t.Errorf("%s: %+v", by, p)
		}
	}
}

// If a stage was stopped early and the server later loses some of its results, workers repeat exactly the portions
// whose results were lost. The search then has the same result. A result that was stored after the stage was stopped
// never counts.
func TestLostPartsOfAStageEndedEarlyAreMadeAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	nc := connect(t, s.Access)
	const size = 1000
	c := create(t, nc, "early", "{}")
	ctx, cancel := context.WithCancel(t.Context())
	k := newCrew(t, s.Access)
	k.work(ctx, "early", honest)
	ends := func(p Progress) string {
		if s := p.Stage(); s.Name == "numbers" && s.Done >= 50 {
			return "fifty are enough"
		}
		return ""
	}
	coordinate := func() (got string) {
		t.Helper()
		if err := c.Coordinate(t.Context(), "first", func(ctx context.Context, d *Director) (err error) {
			d.Rule = ends
			got, err = count(size)(ctx, d)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := coordinate()
	cancel()
	k.all.Wait()
	stored := func() StageProgress {
		t.Helper()
		d := c.Stored()
		if _, err := count(size)(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		return d.Progress().Stages[0]
	}
	before := stored()
	late := campaign.Stage{Name: "numbers", Spec: []byte("1")}
	value, err := counter{}.Make(t.Context(), late, 994, 6)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.store(t.Context(), "numbers", campaign.Part{First: 994, Size: 6, Value: value}, 0); err != nil {
		t.Fatal(err)
	}
	for _, p := range []portion{{0, 7}, {14, 7}} {
		m, err := c.parts.GetLastMsgForSubject(t.Context(), c.subjectOf(parts, "numbers", p))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.parts.DeleteMsg(t.Context(), m.Sequence); err != nil {
			t.Fatal(err)
		}
	}
	if p := stored(); p.Lacking() != 14 || p.Done != before.Done-14 || p.Ended != before.Ended {
		t.Errorf("%+v lacks %d; before it was %+v", p, p.Lacking(), before)
	}
	if err := c.Reopen(t.Context()); err != nil {
		t.Fatal(err)
	}
	newCrew(t, s.Access).work(t.Context(), "early", honest)
	if got := coordinate(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if p := stored(); p != before || p.Complete() {
		t.Errorf("%+v, want %+v", p, before)
	}
}

// TestASearchThatHasEnoughLacksNothing checks that a search that has found enough is complete when it stops, even if a
// result that it does not need is lost.
func TestASearchThatHasEnoughLacksNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	c := create(t, connect(t, s.Access), "enough", "{}")
	newCrew(t, s.Access).work(t.Context(), "enough", honest)
	enough := errors.New("this is enough")
	search := func(ctx context.Context, d *Director) error {
		err := d.Do(ctx, campaign.Stage{Name: "numbers", Spec: []byte("1"), Size: 100, Portion: 7},
			func(p campaign.Part) error {
				if p.First == 6 {
					return enough
				}
				return nil
			})
		if errors.Is(err, enough) {
			return nil
		}
		return errors.Join(err, errors.New("it had not enough"))
	}
	if err := c.Coordinate(t.Context(), "first", search); err != nil {
		t.Fatal(err)
	}
	m, err := c.parts.GetLastMsgForSubject(t.Context(), c.subjectOf(parts, "numbers", portion{0, 2}))
	if err == nil {
		err = c.parts.DeleteMsg(t.Context(), m.Sequence)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := c.Stored()
	if err := search(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if p := d.Progress().Stage(); p.Lacking() != 0 || p.Done == 0 || p.Ended == "" {
		t.Errorf("%+v lacks %d", p, p.Lacking())
	}
}

// An unfinished campaign is not reported as complete, and reading its results never blocks.
func TestAnIncompleteCampaignIsNotComplete(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Options{})
	c := create(t, connect(t, s.Access), "partial", "{}")
	ctx, cancel := context.WithCancel(t.Context())
	k := newCrew(t, s.Access)
	k.work(ctx, "partial", func(func()) campaign.Worker {
		return counter{before: func(_ context.Context, s campaign.Stage, at uint64) error {
			if at == 70 {
				cancel()
			}
			return nil
		}}
	})
	if _, err := result(ctx, c, "first", 500); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	k.all.Wait()
	began := time.Now()
	sum := tally{}
	d := c.Stored()
	if err := d.Do(t.Context(), campaign.Stage{Name: "numbers", Spec: []byte("1"), Size: 500, Portion: 7},
		sum.take); err != nil {
		t.Fatal(err)
	}
	if p := d.Progress().Stage(); p.Complete() || p.Done != sum.Positions || p.Done == 0 || p.Done > 77 {
		t.Errorf("%+v in %s, %+v", p, time.Since(began), sum)
	}
	if err := d.Do(t.Context(), campaign.Stage{Name: "numbers", Spec: []byte("2"), Size: 500, Portion: 7},
		sum.take); err != nil {
		t.Fatal(err)
	}
	if p := d.Progress().Stage(); p.Done != 0 {
		t.Errorf("parts of another stage of the same name were taken: %+v", p)
	}
}
