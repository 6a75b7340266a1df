package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// ahead is how many portions of a stage wait or are being made at most, so that the queue is of one size for campaigns
// of any size. More workers than that find nothing to do.
const ahead = 4096

// burst is how many portions are put on the queue before parts are looked for again.
const burst = 64

// A stage is divided into so many portions: enough for every worker to have one, few enough for the server to hold them
// in its memory. No portion is larger than that.
const (
	fewest  = 64
	most    = 20_000
	largest = 1 << 20
)

// portioned is how many positions make a portion of a stage: as many as it says, within these limits.
func portioned(s campaign.Stage) uint64 {
	size := max(1, min(s.Portion, (s.Size+fewest-1)/fewest))
	return max(size, min(s.Size/most, largest))
}

// tick is how often a coordinator looks at the time, at requests to stop, and for parts of which no message came.
const tick = time.Second

// Director runs the stages of one search for whoever coordinates, or reads what there is of them: it is the Hands of
// the search.
type Director struct {
	c *Campaign

	// Rule, if set, says after each part, and once a tick, why the stage is to be ended early; empty if it is not.
	// It decides, too, which stages are ended when somebody has asked that the campaign be stopped.
	Rule func(Progress) string
	// Seen, if set, is called with how far the search is, once a tick.
	Seen func(Progress)
	// Summary, if set, gives what the search has found so far, for whoever follows it.
	Summary func() json.RawMessage

	stored bool // it only reads what there is

	mu       sync.Mutex
	progress Progress
	since    time.Time // progress.Elapsed was counted up to then
	written  time.Time // progress was written
}

// Progress is how far a campaign is.
type Progress struct {
	// Elapsed is for how long the campaign has been coordinated.
	Elapsed time.Duration `json:"elapsed"`
	// Took is how long workers have worked, all together.
	Took   time.Duration   `json:"took"`
	Stages []StageProgress `json:"stages"` // in the order in which they were begun
	Lost   []Loss          `json:"lost,omitempty"`
	// Stop is why somebody has asked that the campaign be stopped; empty if nobody has.
	Stop    string          `json:"stop,omitempty"`
	Summary json.RawMessage `json:"summary,omitempty"` // what the search has found
}

// Stage is the one under way, or the last.
func (p Progress) Stage() StageProgress {
	if len(p.Stages) == 0 {
		return StageProgress{}
	}
	return p.Stages[len(p.Stages)-1]
}

// StageProgress is how far a stage is.
type StageProgress struct {
	Name string `json:"name"`
	Done uint64 `json:"done"` // positions of which there is a part
	Lost uint64 `json:"lost"` // of those, with nothing in it
	Size uint64 `json:"size"`
	// Ended is why the stage was ended before all of it was made; empty if it was not.
	Ended string `json:"ended,omitempty"`
}

// Lacking is how many positions have no part, though the stage was made to its end: parts were lost since.
func (s StageProgress) Lacking() uint64 {
	if s.Ended != "" {
		return 0
	}
	return s.Size - s.Done
}

// Loss is positions of which nothing came.
type Loss struct {
	Stage string `json:"stage"`
	First uint64 `json:"first"`
	Size  uint64 `json:"size"`
	Why   string `json:"why"`
}

// mostLost is how many losses progress lists.
const mostLost = 100

// Complete reports whether all of a stage was made.
func (s StageProgress) Complete() bool { return s.Done == s.Size && s.Lost == 0 }

// direct makes the director of a coordinator, which goes on where the one before it was.
func (c *Campaign) direct(ctx context.Context) (*Director, error) {
	before, err := c.Progress(ctx)
	d := &Director{c: c, since: time.Now()}
	d.progress.Elapsed = before.Elapsed
	return d, err
}

// Stored makes a director that reads what was stored and waits for nothing. What has no part is not taken.
func (c *Campaign) Stored() *Director { return &Director{c: c, stored: true, since: time.Now()} }

// Progress is as the coordinator last wrote it.
func (c *Campaign) Progress(ctx context.Context) (p Progress, err error) {
	text, err := c.get(ctx, keyProgress)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

// Progress is how far the search is.
func (d *Director) Progress() Progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.progress
	p.Stages, p.Lost = slices.Clone(p.Stages), slices.Clone(p.Lost)
	return p
}

// errAgain ends a search that has counted parts which another coordinator has decided not to count.
var errAgain = errors.New("the stage was ended by another coordinator, before parts that were counted here")

// fold is a stage being made.
type fold struct {
	*Director
	campaign.Stage
	key     string
	take    func(campaign.Part) error
	covered covered
	next    uint64 // the sequence of the next part to look at
	taken   uint64 // that of the last one taken
	given   uint64 // positions below were put on the queue or are covered
	end     *ending
	at      int // in progress.Stages
}

// Do makes all positions of a stage, as campaign.Hands says. It returns nil also for a stage that was ended early, and,
// if only what is stored is read, for one of which some is not there: progress says so.
func (d *Director) Do(ctx context.Context, s campaign.Stage, take func(campaign.Part) error) error {
	f := &fold{Director: d, Stage: s, key: token(s.Name), take: take, next: 1}
	if err := f.declare(ctx); err != nil {
		return err
	}
	wake := make(chan struct{}, 1)
	if !d.stored {
		came, err := d.c.nc.Subscribe(d.c.stageSubject(parts, s.Name)+".>", func(*nats.Msg) {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		if err != nil {
			return err
		}
		defer came.Unsubscribe()
	}
	for {
		over, err := f.step(ctx)
		if err != nil || over {
			return err
		}
		if f.given < f.Size && f.room() > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		case <-time.After(tick):
		}
	}
}

// declare lets workers know what the stage is, unless a coordinator before has.
func (f *fold) declare(ctx context.Context) error {
	before, err := f.c.stage(ctx, f.key)
	if err != nil {
		return err
	}
	if before == nil && !f.stored {
		f.Portion = portioned(f.Stage)
		if err := f.c.declare(ctx, f.key, f.Stage); err != nil {
			return err
		}
		if before, err = f.c.stage(ctx, f.key); err != nil {
			return err
		}
	}
	same := before != nil && before.Size == f.Size && string(before.Spec) == string(f.Spec)
	switch {
	case same:
		f.Portion = before.Portion
	case f.stored:
		f.next = 0 // what is stored is of another stage, or nothing is
	default:
		return fmt.Errorf("stage %s is another one in this campaign", f.Name)
	}
	if f.end, err = f.c.ended(ctx, f.key); err != nil {
		return err
	}
	f.mu.Lock()
	f.at = len(f.progress.Stages)
	f.progress.Stages = append(f.progress.Stages, StageProgress{Name: f.Name, Size: f.Size})
	f.mu.Unlock()
	return nil
}

// step takes what is stored, decides whether the stage is over, and puts more of it on the queue.
func (f *fold) step(ctx context.Context) (over bool, err error) {
	for {
		found, err := f.part(ctx)
		if err != nil {
			return false, err
		}
		if over, err := f.over(ctx); over || err != nil {
			return over, err
		}
		if !found {
			break
		}
	}
	if f.stored || f.end != nil {
		return true, nil
	}
	if err := f.look(ctx); err != nil {
		return false, err
	}
	if over, err := f.over(ctx); over || err != nil {
		return over, err
	}
	if f.end != nil {
		return f.step(ctx) // parts that count may have come
	}
	return false, f.give(ctx)
}

// part takes the next part that is stored. It reports whether there was one.
func (f *fold) part(ctx context.Context) (found bool, err error) {
	if f.next == 0 || f.end != nil && f.next > f.end.Last {
		return false, nil
	}
	var m *jetstream.RawStreamMsg
	err = f.c.persist(ctx, func(ctx context.Context) error {
		var err error
		m, err = f.c.parts.GetMsg(ctx, f.next, jetstream.WithGetMsgSubject(f.c.stageSubject(parts, f.Name)+".>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			m = nil
			return nil
		}
		return err
	})
	if err != nil || m == nil || f.end != nil && m.Sequence > f.end.Last {
		return false, err
	}
	f.next = m.Sequence + 1
	p, value, err := f.read(ctx, m)
	if errors.As(err, new(*strange)) { // the place under its subject may be that of a part
		err = f.c.setAside(ctx, m.Subject, m.Sequence, err)
		if err == nil && !f.stored {
			err = f.c.persist(ctx, func(ctx context.Context) error { return f.c.parts.DeleteMsg(ctx, m.Sequence) })
		}
		return true, err
	}
	if err != nil || !f.covered.add(p) {
		return true, err
	}
	f.taken = m.Sequence
	took, _ := strconv.ParseInt(m.Header.Get(headerTook), 10, 64)
	lost := m.Header.Get(headerLost)
	f.mu.Lock()
	s := &f.progress.Stages[f.at]
	s.Done += p.size
	if lost != "" {
		if s.Lost += p.size; len(f.progress.Lost) < mostLost {
			f.progress.Lost = append(f.progress.Lost, Loss{f.Name, p.first, p.size, lost})
		}
	}
	f.progress.Took += time.Duration(took)
	f.mu.Unlock()
	err = f.take(campaign.Part{First: p.first, Size: p.size, Value: value, Lost: lost})
	if err != nil && !f.stored && f.end == nil {
		err = errors.Join(err, f.finish(ctx, "the search needs no more of it"))
	}
	return true, err
}

// strange is why a message among the parts is none.
type strange struct{ error }

// read understands a part. An error that is strange says that it is none, or damaged.
func (f *fold) read(ctx context.Context, m *jetstream.RawStreamMsg) (p portion, value []byte, err error) {
	_, p, err = f.c.parse(parts, m.Subject)
	if err == nil {
		err = f.c.ours(m.Header)
	}
	if err == nil && p.end() > f.Size {
		err = fmt.Errorf("stage %s has only %d positions", f.Name, f.Size)
	}
	if err == nil {
		err = whole(m)
	}
	if err != nil {
		return p, nil, &strange{err}
	}
	name := m.Header.Get(headerObject)
	if name == "" {
		return p, m.Data, nil
	}
	if value, err = f.c.value(ctx, name); spoiled(err) {
		err = &strange{fmt.Errorf("the object with its value is damaged: %w", err)}
	}
	return p, value, err
}

// over decides whether the stage is over: all of it is made, or it was or is now ended.
func (f *fold) over(ctx context.Context) (bool, error) {
	f.clock()
	done := f.covered.below(f.Size) == f.Size
	switch {
	case f.end != nil:
		if f.taken > f.end.Last {
			return false, errAgain
		}
		f.mu.Lock()
		f.progress.Stages[f.at].Ended = f.end.Reason
		f.mu.Unlock()
		return done || f.taken == f.end.Last, nil
	case done || f.stored || f.Rule == nil:
		return done, nil
	}
	reason := f.Rule(f.Progress())
	if reason == "" {
		return false, nil
	}
	if err := f.finish(ctx, reason); err != nil {
		return false, err
	}
	return f.over(ctx)
}

// finish ends the stage, unless another coordinator has, with the parts that were taken, and empties its queue.
func (f *fold) finish(ctx context.Context, reason string) error {
	text, err := json.Marshal(ending{reason, f.taken})
	if err != nil {
		return err
	}
	if text, err = f.c.once(ctx, keyEnded+f.key, text); err != nil {
		return err
	}
	f.end = new(ending)
	if err := json.Unmarshal(text, f.end); err != nil {
		return err
	}
	return f.c.persist(ctx, func(ctx context.Context) error {
		return f.c.work.Purge(ctx, jetstream.WithPurgeSubject(f.c.stageSubject(work, f.Name)+".>"))
	})
}

// clock counts the time since it last did.
func (f *fold) clock() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.progress.Elapsed += now.Sub(f.since)
	f.since = now
}

// look sees what was asked for meanwhile, and lets those who follow the campaign see how far it is.
func (f *fold) look(ctx context.Context) error {
	if time.Since(f.written) < tick {
		return nil
	}
	why, err := f.c.get(ctx, keyStop)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.progress.Stop = string(why)
	f.mu.Unlock()
	if f.end == nil {
		if f.end, err = f.c.ended(ctx, f.key); err != nil {
			return err
		}
	}
	if f.given == f.Size {
		if err := f.recover(ctx); err != nil {
			return err
		}
	}
	f.written = time.Now()
	if f.Seen != nil {
		f.Seen(f.Progress())
	}
	return f.report(ctx)
}

// recover begins to give again when the queue has nothing left and parts are missing all the same: messages were
// removed by somebody, a part that nobody understood was put aside, or the server can no longer read one.
func (f *fold) recover(ctx context.Context) error {
	var left uint64
	err := f.c.persist(ctx, func(ctx context.Context) error {
		info, err := f.c.work.Info(ctx)
		if err == nil {
			left = info.State.Msgs
		}
		return err
	})
	if err != nil || left > 0 {
		return err
	}
	f.given = 0
	return f.unreadable(ctx)
}

// unreadable says which part of the stage the server counts and cannot give, since it is damaged on its disk: no other
// can be stored in its place.
func (f *fold) unreadable(ctx context.Context) error {
	var subjects map[string]uint64
	err := f.c.persist(ctx, func(ctx context.Context) error {
		info, err := f.c.parts.Info(ctx, jetstream.WithSubjectFilter(f.c.stageSubject(parts, f.Name)+".>"))
		if err == nil {
			subjects = info.State.Subjects
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, subject := range slices.Sorted(maps.Keys(subjects)) {
		_, p, err := f.c.parse(parts, subject)
		if err != nil || f.covered.gap(p.first, p.size, p.end()).size == 0 {
			continue
		}
		if yes, err := f.c.readable(ctx, subject); err != nil || !yes {
			return errors.Join(err, &serverError{fmt.Errorf("the server's store is damaged: it counts the part %s and "+
				"cannot read it. Start the server again, one of your own without the file msgs/index.db of its stream "+
				"%s: then the part is made again", subject, partsOf(f.c.Name))})
		}
	}
	return nil
}

// report writes progress.
func (d *Director) report(ctx context.Context) error {
	p := d.Progress()
	if d.Summary != nil {
		p.Summary = d.Summary()
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return d.c.put(ctx, keyProgress, text)
}

// room is how many more portions may wait on the queue.
func (f *fold) room() uint64 {
	waiting := (f.given - f.covered.below(f.given) + f.Portion - 1) / f.Portion
	return ahead - min(ahead, waiting)
}

// give puts portions on the queue that are missing.
func (f *fold) give(ctx context.Context) error {
	for range min(burst, f.room()) {
		p := f.covered.gap(f.given, f.Portion, f.Size)
		if p.size == 0 {
			f.given = f.Size
			return nil
		}
		if err := f.c.enqueue(ctx, f.Name, p); err != nil {
			return err
		}
		f.given = p.end()
	}
	return nil
}
