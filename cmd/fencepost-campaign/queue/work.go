package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// deaths is how many workers may die while processing the same portion. After that, the portion is divided or, if it is
// a single position, set aside.
const deaths = 3

// Present describes a worker to the other processes.
type Present struct {
	Host    string `json:"host"`
	Process int    `json:"process"`
	Build   string `json:"build"` // the program, its version and its platform
	Refused string `json:"refused,omitempty"`
	Doing   string `json:"doing,omitempty"` // the portion that the worker is working on
	Made    uint64 `json:"made"`            // number of positions that the worker has completed
	Ended   bool   `json:"ended,omitempty"` // whether the worker has ended by itself; Made is then final
}

// Hand is one worker process of a campaign.
type Hand struct {
	c  *Campaign
	ID string
	Present
	stages map[string]*campaign.Stage
	shown  time.Time
}

// Join registers a worker. Each worker must have a different id.
func (c *Campaign) Join(ctx context.Context, id string, p Present) (*Hand, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	h := &Hand{c: c, ID: id, Present: p, stages: map[string]*campaign.Stage{}}
	return h, c.put(ctx, keyWorker+token(id), text)
}

// Refuse records why a worker is not allowed to take part.
func (h *Hand) Refuse(ctx context.Context, why error) error {
	h.Refused = why.Error()
	text, err := json.Marshal(h.Present)
	if err != nil {
		return err
	}
	return h.c.put(ctx, keyWorker+token(h.ID), text)
}

// fetchFor is how long a worker waits for a portion before checking whether the campaign is over.
const fetchFor = 2 * time.Second

// Work processes portions until the campaign is over, and then returns nil. It returns an error if the campaign has
// failed or ctx is done.
func (h *Hand) Work(ctx context.Context, w campaign.Worker) error {
	defer h.leave(ctx)
	for {
		if err := h.show(ctx); err != nil {
			return err
		}
		m, err := h.fetch(ctx)
		if err != nil {
			return err
		}
		if m == nil {
			if over, err := h.over(ctx); over || err != nil {
				return err
			}
			continue
		}
		if err := h.portion(ctx, w, m); err != nil {
			return err
		}
	}
}

// leave tells other processes how many positions this worker has completed, and that it no longer needs the server. If
// leave fails, the other processes notice that the worker is gone when its heartbeat expires.
func (h *Hand) leave(ctx context.Context) {
	h.Ended = true
	text, err := json.Marshal(h.Present)
	if err != nil || !h.c.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryFor)
	defer cancel()
	h.c.keys.Put(ctx, keyWorker+token(h.ID), text)
	h.c.present.Delete(ctx, token(h.ID))
}

// over reports whether the campaign is over. It returns an error if the campaign has failed or no longer exists.
func (h *Hand) over(ctx context.Context) (bool, error) {
	text, err := h.c.get(ctx, keySpec)
	if err == nil && (text == nil || sumOf(text) != h.c.ID) {
		err = fmt.Errorf("campaign %s %w", h.c.Name, ErrRemoved)
	}
	if err != nil {
		return false, err
	}
	return h.c.Over(ctx)
}

// fetch takes a message from the queue. It returns nil if no message arrives within fetchFor.
func (h *Hand) fetch(ctx context.Context) (m jetstream.Msg, err error) {
	err = h.c.persist(ctx, func(ctx context.Context) error {
		batch, err := h.c.workers.Fetch(1, jetstream.FetchMaxWait(fetchFor))
		if err != nil {
			return err
		}
		select {
		case m = <-batch.Messages():
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := batch.Error(); m == nil && err != nil && !errors.Is(err, jetstream.ErrNoMessages) &&
			!errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil
	})
	return m, err
}

// portion processes the portion named in a message, and stores the result.
func (h *Hand) portion(ctx context.Context, w campaign.Worker, m jetstream.Msg) error {
	s, p, err := h.read(ctx, m)
	if err != nil {
		return err
	}
	if s == nil {
		return nil // read has set the message aside
	}
	if done, err := h.c.stored(ctx, s.Name, p); err != nil || done {
		return errors.Join(err, h.ack(ctx, m))
	}
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	if meta.NumDelivered > deaths {
		return h.divide(ctx, m, s, p, fmt.Sprintf("%d workers died while working on it", deaths))
	}
	began := time.Now()
	value, err := h.make(ctx, w, m, s, p)
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), h.giveBack(m, s, p))
	case errors.Is(err, errEnded):
		return h.ack(ctx, m)
	case err != nil:
		return h.divide(ctx, m, s, p, err.Error())
	}
	took := time.Since(began)
	if err := h.keeping(ctx, m, func(ctx context.Context) error {
		return h.c.store(ctx, s.Name, campaign.Part{First: p.first, Size: p.size, Value: value}, took)
	}); err != nil {
		return err
	}
	h.Made += p.size
	return h.ack(ctx, m)
}

// read interprets a message from the queue. If it cannot, it sets the message aside and returns a nil stage.
func (h *Hand) read(ctx context.Context, m jetstream.Msg) (*campaign.Stage, portion, error) {
	key, p, err := h.c.parse(work, m.Subject())
	if err == nil {
		err = h.c.checkOwner(m.Headers())
	}
	var s *campaign.Stage
	if err == nil {
		if s = h.stages[key]; s == nil {
			var failed error
			if s, failed = h.c.stage(ctx, key); failed != nil {
				return nil, p, failed
			}
			h.stages[key] = s
		}
		if s == nil || p.end() > s.Size {
			err = errors.New("no stage of the campaign has these positions")
		}
	}
	if err == nil {
		return s, p, nil
	}
	// the message may belong to a new campaign with the same name
	if over, failed := h.over(ctx); over || failed != nil {
		return nil, p, failed
	}
	meta, failed := m.Metadata()
	if failed != nil {
		return nil, p, failed
	}
	if failed := h.c.setAside(ctx, m.Subject(), meta.Sequence.Stream, err); failed != nil {
		return nil, p, failed
	}
	return nil, p, m.TermWithReason(err.Error())
}

// errEnded stops the work on a portion because its stage has ended.
var errEnded = errors.New("the stage was ended")

// make processes a portion. While doing so, it tells the server that the portion is in progress.
func (h *Hand) make(ctx context.Context, w campaign.Worker, m jetstream.Msg, s *campaign.Stage,
	p portion) (value []byte, err error) {
	h.Doing = fmt.Sprintf("%s %d to %d", s.Name, p.first, p.end()-1)
	defer func() { h.Doing = "" }()
	err = h.keeping(ctx, m, func(ctx context.Context) error {
		value, err = w.Make(ctx, *s, p.first, p.size)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	})
	return value, err
}

// keeping calls f, which may take a long time. In the meantime, it keeps the server from delivering the message again.
// f's context is canceled if the stage ends without this portion's result.
func (h *Hand) keeping(ctx context.Context, m jetstream.Msg, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	kept := make(chan struct{})
	key, p, _ := h.c.parse(work, m.Subject())
	go func() {
		defer close(kept)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(h.c.Patience / 3):
			}
			m.InProgress()    // if this fails, the portion may be run again, which does no harm
			h.showWithin(ctx) // even if the server cannot store this, it does not deliver the message again
			if end, err := h.c.ended(ctx, key); err == nil && end != nil && !end.Counted.includes(covered{p}) {
				cancel(errEnded)
			}
		}
	}()
	err := f(ctx)
	cancel(nil)
	<-kept
	return err
}

// divide replaces a queued portion with its two halves. If the portion is a single position, divide sets it aside as
// lost and records the reason.
func (h *Hand) divide(ctx context.Context, m jetstream.Msg, s *campaign.Stage, p portion, why string) error {
	if p.size == 1 {
		err := h.c.store(ctx, s.Name, campaign.Part{First: p.first, Size: 1, Lost: why}, 0)
		if err != nil {
			return err
		}
		return h.ack(ctx, m)
	}
	for _, half := range p.halves() {
		if err := h.c.enqueue(ctx, s.Name, half); err != nil {
			return err
		}
	}
	return h.ack(ctx, m)
}

// giveBack puts a portion back on the queue as if it had never been delivered. That way, a worker that leaves does not
// count as one that died while processing the portion.
func (h *Hand) giveBack(m jetstream.Msg, s *campaign.Stage, p portion) error {
	ctx, cancel := context.WithTimeout(context.Background(), tryFor)
	defer cancel()
	if err := m.DoubleAck(ctx); err != nil {
		return err
	}
	return h.c.enqueue(ctx, s.Name, p) // if this fails, the coordinator notices that the portion is missing
}

// ack removes a message from the queue.
func (h *Hand) ack(ctx context.Context, m jetstream.Msg) error {
	err := m.Ack()
	if err != nil && ctx.Err() == nil && passing(err) {
		return nil // the message will be delivered again, and the worker will find that its result is already stored
	}
	return err
}

// show writes a heartbeat, unless it has written one recently.
func (h *Hand) show(ctx context.Context) error {
	if time.Since(h.shown) < h.c.Patience/3 {
		return nil
	}
	return h.c.persist(ctx, h.sign)
}

// showWithin tries once to write a heartbeat, ignoring errors.
func (h *Hand) showWithin(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, min(tryFor, h.c.Patience/3))
	defer cancel()
	h.sign(ctx)
}

// sign writes a heartbeat.
func (h *Hand) sign(ctx context.Context) error {
	text, err := json.Marshal(h.Present)
	if err != nil {
		return err
	}
	if _, err = h.c.present.Put(ctx, token(h.ID), text); err == nil {
		h.shown = time.Now()
	}
	return err
}
