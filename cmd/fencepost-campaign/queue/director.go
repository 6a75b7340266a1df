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

// ahead is the maximum number of a stage's portions that are queued or in progress at the same time. It limits the size
// of the queue, no matter how large the campaign is. If there are more workers than that, the rest are idle.
const ahead = 4096

// burst is the number of portions that the coordinator queues before it looks for new results again.
const burst = 64

// Limits for dividing a stage into portions. A stage with enough positions has about minPortions portions or more, so
// that many workers can share it. It has fewer than twice maxPortions portions, so that the server can keep them in
// memory. To achieve this, portions may be larger than the stage requests, up to maxSize positions.
const (
	minPortions = 64
	maxPortions = 20_000
	maxSize     = 1 << 20
)

// portioned returns the number of positions in each portion of a stage. This is the number that the stage requests,
// unless minPortions, maxPortions or maxSize call for a different one.
func portioned(s campaign.Stage) uint64 {
	size := max(1, min(s.Portion, (s.Size+minPortions-1)/minPortions))
	return max(size, min(s.Size/maxPortions, maxSize))
}

// tick is how often a coordinator checks the time and looks for stop requests and for results that it was not notified
// of.
const tick = time.Second

// Director implements campaign.Hands. It either runs the stages of a search for the coordinator, or only reads stored
// results.
type Director struct {
	c *Campaign

	// Rule, if set, is called after each new result and once per tick. It returns the reason why the stage should be
	// stopped early, or "". After a user has asked to stop the campaign, Rule decides which stages are stopped.
	Rule func(Progress) string
	// Seen, if set, is called once per tick with the progress of the search.
	Seen func(Progress)
	// Summary, if set, returns what the search has found so far, for users who are following the campaign.
	Summary func() json.RawMessage

	stored bool // whether it only reads stored results

	mu       sync.Mutex
	progress Progress
	since    time.Time // the time up to which progress.Elapsed was counted
	written  time.Time // when progress was last written
}

// Progress describes how much of a campaign is done.
type Progress struct {
	// Elapsed is the total time for which a coordinator has been running the campaign.
	Elapsed time.Duration `json:"elapsed"`
	// Took is the workers' total working time.
	Took   time.Duration   `json:"took"`
	Stages []StageProgress `json:"stages"` // in the order in which they began
	Lost   []Loss          `json:"lost,omitempty"`
	// Stop is a user's reason for stopping the campaign. It is empty if no user has asked to stop it.
	Stop    string          `json:"stop,omitempty"`
	Summary json.RawMessage `json:"summary,omitempty"` // what the search has found so far
}

// Stage returns the current stage, or the last one if the search is over.
func (p Progress) Stage() StageProgress {
	if len(p.Stages) == 0 {
		return StageProgress{}
	}
	return p.Stages[len(p.Stages)-1]
}

// StageProgress describes how much of a stage is done. A stage consists of jobs; a job's position is its number in the
// stage (see campaign.Stage).
type StageProgress struct {
	Name string `json:"name"`
	Done uint64 `json:"done"` // number of positions that have a result, or are lost
	Lost uint64 `json:"lost"` // number of positions in Done that did not give a result
	Size uint64 `json:"size"`
	// Due is the number of positions that need a result: all positions of the stage or, if it was stopped early, only
	// those that had a result by then.
	Due uint64 `json:"due"`
	// Ended is the reason why the stage was stopped early, or "" if it was not.
	Ended string `json:"ended,omitempty"`
}

// Lacking returns the number of positions that need a result (see Due) but do not have one yet. In a finished campaign,
// these are positions whose results the server has lost.
func (s StageProgress) Lacking() uint64 { return s.Due - s.Done }

// Loss is a range of positions in a stage whose jobs did not produce a result.
type Loss struct {
	Stage string `json:"stage"`
	First uint64 `json:"first"`
	Size  uint64 `json:"size"`
	Why   string `json:"why"`
}

// mostLost is the maximum number of losses listed by Progress.
const mostLost = 100

// Complete reports whether every position of the stage has a result.
func (s StageProgress) Complete() bool { return s.Done == s.Size && s.Lost == 0 }

// direct returns a Director for a new coordinator, which continues the previous one's search.
func (c *Campaign) direct(ctx context.Context) (*Director, error) {
	before, err := c.Progress(ctx)
	d := &Director{c: c, since: time.Now()}
	d.progress.Elapsed = before.Elapsed
	return d, err
}

// Stored returns a Director that only reads stored results and does not wait. It skips positions without a result.
func (c *Campaign) Stored() *Director { return &Director{c: c, stored: true, since: time.Now()} }

// Progress returns the progress last written by the coordinator.
func (c *Campaign) Progress(ctx context.Context) (p Progress, err error) {
	text, err := c.get(ctx, keyProgress)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

// Progress returns how much of the search is done.
func (d *Director) Progress() Progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.progress
	p.Stages, p.Lost = slices.Clone(p.Stages), slices.Clone(p.Lost)
	return p
}

// errAgain ends a search because another coordinator has ended the stage without some of the results that this search
// has already counted.
var errAgain = errors.New("another coordinator ended the stage without results that this one had already counted")

// fold is the state of one stage while its results are being collected.
type fold struct {
	*Director
	campaign.Stage
	key     string
	take    func(campaign.Part) error
	due     covered // the positions that count
	covered covered // the positions of due that were counted
	next    uint64  // the stream sequence of the next result to look at; 0: the stage has no stored results
	given   uint64  // all positions below this one that count are covered or were queued
	end     *ending // how the stage was ended early; nil if it was not
	at      int     // the stage's index in progress.Stages
}

// Do does all of a stage's work, as campaign.Hands requires. It also returns nil if the stage was stopped early. If the
// Director only reads stored results, Do returns nil even if some are missing. Progress reports these cases.
func (d *Director) Do(ctx context.Context, s campaign.Stage, take func(campaign.Part) error) error {
	f := &fold{Director: d, Stage: s, key: token(s.Name), take: take, due: covered{{0, s.Size}}, next: 1}
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

// declare writes the stage to the server for the workers, unless an earlier coordinator already has.
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
		f.next = 0 // there is no stored result, or it belongs to another stage
	default:
		return fmt.Errorf("stage %s of this campaign differs from the stored one", f.Name)
	}
	f.mu.Lock()
	f.at = len(f.progress.Stages)
	f.progress.Stages = append(f.progress.Stages, StageProgress{Name: f.Name, Size: f.Size, Due: f.Size})
	f.mu.Unlock()
	return f.readEnding(ctx)
}

// readEnding asks the server whether the stage was ended early.
func (f *fold) readEnding(ctx context.Context) error {
	end, err := f.c.ended(ctx, f.key)
	if end == nil || err != nil {
		return err
	}
	return f.ended(end)
}

// ended restricts the stage to the positions that had been counted when it was stopped early. If the server later loses
// one of their results, that position is run again. ended returns errAgain if this process has counted any other
// position.
func (f *fold) ended(end *ending) error {
	if !end.Counted.includes(f.covered) {
		return errAgain
	}
	f.end, f.due = end, end.Counted
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.progress.Stages[f.at]
	s.Ended, s.Due = end.Reason, f.due.below(f.Size)
	return nil
}

// step counts the stored results, decides whether the stage is over, and queues more portions.
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
	if f.stored {
		return true, nil
	}
	before := f.end
	if err := f.look(ctx); err != nil {
		return false, err
	}
	if over, err := f.over(ctx); over || err != nil {
		return over, err
	}
	if f.end != before {
		return f.step(ctx) // count the remaining results, unless they were lost
	}
	return false, f.give(ctx)
}

// part passes the next stored result, if any, to the search, and reports whether there was one.
func (f *fold) part(ctx context.Context) (found bool, err error) {
	if f.next == 0 {
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
	if err != nil || m == nil {
		return false, err
	}
	f.next = m.Sequence + 1
	p, value, err := f.read(ctx, m)
	if errors.As(err, new(*strange)) { // It may have the subject of a real result, which then cannot be stored.
		err = f.c.setAside(ctx, m.Subject, m.Sequence, err)
		if err == nil && !f.stored {
			err = f.c.persist(ctx, func(ctx context.Context) error { return f.c.parts.DeleteMsg(ctx, m.Sequence) })
		}
		return true, err
	}
	if err != nil || !f.due.includes(covered{p}) || !f.covered.add(p) {
		return true, err
	}
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
		err = errors.Join(err, f.finish(ctx, "the search needs no more results"))
	}
	if err != nil {
		f.mu.Lock()
		s.Due = s.Done
		f.mu.Unlock()
	}
	return true, err
}

// strange is an error that says why a message in the result stream is not a valid result.
type strange struct{ error }

// read decodes a stored result. The error is a *strange if the message is not a result of this stage, or is damaged.
func (f *fold) read(ctx context.Context, m *jetstream.RawStreamMsg) (p portion, value []byte, err error) {
	_, p, err = f.c.parse(parts, m.Subject)
	if err == nil {
		err = f.c.checkOwner(m.Header)
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

// over reports whether the stage is over, because it is complete, because it was stopped early, or because the rule
// says that it should be stopped now.
func (f *fold) over(ctx context.Context) (bool, error) {
	f.clock()
	done := f.covered.below(f.Size) == f.due.below(f.Size)
	if done || f.end != nil || f.stored || f.Rule == nil {
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

// finish ends the stage with the results that have been counted so far, unless another coordinator has already ended
// it. It also removes the stage's portions from the queue.
func (f *fold) finish(ctx context.Context, reason string) error {
	text, err := json.Marshal(ending{reason, f.covered})
	if err != nil {
		return err
	}
	if text, err = f.c.writeOnce(ctx, keyEnded+f.key, text); err != nil {
		return err
	}
	end := new(ending)
	if err := json.Unmarshal(text, end); err != nil {
		return err
	}
	if err := f.ended(end); err != nil {
		return err
	}
	return f.c.persist(ctx, func(ctx context.Context) error {
		return f.c.work.Purge(ctx, jetstream.WithPurgeSubject(f.c.stageSubject(work, f.Name)+".>"))
	})
}

// clock adds the time since its last call to the elapsed time.
func (f *fold) clock() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.progress.Elapsed += now.Sub(f.since)
	f.since = now
}

// look reads users' requests to stop the campaign, and writes the progress for users who are following it.
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
		if err := f.readEnding(ctx); err != nil {
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

// recover is called when some results are missing. If the queue is nevertheless empty, it makes the Director queue once
// more all portions that have no result. That is necessary if a user removed messages, if a result was set aside, or if
// the server can no longer read a result.
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

// unreadable looks for the first of the stage's stored results that the server cannot read, because it is damaged on
// disk. It returns an error that names this result. No other result can be stored in its place.
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
		if err != nil || f.covered.includes(covered{p}) || !f.due.includes(covered{p}) {
			continue
		}
		if yes, err := f.c.readable(ctx, subject); err != nil || !yes {
			return errors.Join(err, &serverError{fmt.Errorf(
				"the server's store is damaged: it lists the part %s but cannot read it. Restart the server; "+
					"if it is a NATS server of your own, first delete the file msgs/index.db of its stream %s. "+
					"The part is then run again", subject, partsOf(f.c.Name))})
		}
	}
	return nil
}

// report writes the progress to the server.
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

// room returns how many more portions may be queued.
func (f *fold) room() uint64 {
	waiting := (f.due.below(f.given) - f.covered.below(f.given) + f.Portion - 1) / f.Portion
	return ahead - min(ahead, waiting)
}

// give adds missing portions to the queue.
func (f *fold) give(ctx context.Context) error {
	for range min(burst, f.room()) {
		p := f.missing()
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

// missing returns the first range of positions without a result. The range is at most one portion long. It contains
// only positions that the stage needs, and none below f.given. If there is no such range, its size is 0.
func (f *fold) missing() portion {
	for _, r := range f.due {
		if p := f.covered.gap(max(f.given, r.first), f.Portion, r.end()); p.size > 0 {
			return p
		}
	}
	return portion{}
}
