package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// sign is the heartbeat that a coordinator writes regularly.
type sign struct {
	By   string `json:"by"`
	Beat uint64 `json:"beat"` // different in each heartbeat
}

// renewal is how often a coordinator writes a heartbeat. If another process sees, by its own clock, that the heartbeat
// has not changed for longer than c.Patience, it replaces the coordinator.
func (c *Campaign) renewal() time.Duration { return c.Patience / 3 }

// Coordinate waits until no other process is coordinating the search, and then performs the search. It returns nil if
// the search has ended, and an error if it has failed, in this process or in another. It also returns when ctx is done.
// by is the name of this process.
func (c *Campaign) Coordinate(ctx context.Context, by string, search func(context.Context, *Director) error) error {
	for {
		if over, err := c.Over(ctx); over || err != nil {
			return err
		}
		revision, err := c.vacant(ctx)
		if err != nil {
			return err
		}
		if revision == 0 {
			continue // the search is over
		}
		switch err := c.preside(ctx, by, revision, search); {
		case errors.Is(err, errReplaced):
		case err != nil:
			return err
		}
	}
}

// Over reports whether the search has ended. If the search has failed, the error says why.
func (c *Campaign) Over(ctx context.Context) (bool, error) {
	if why, err := c.get(ctx, keyFailed); err != nil || why != nil {
		return false, errors.Join(err, failure(why))
	}
	text, err := c.get(ctx, keyFinished)
	return text != nil, err
}

// Reopen resumes a search that has ended. This is needed if the server has lost some of the results.
func (c *Campaign) Reopen(ctx context.Context) error {
	return c.persist(ctx, func(ctx context.Context) error { return c.keys.Delete(ctx, keyFinished) })
}

// failure returns the error for a search that has failed for the given reason. If the reason is empty, it returns nil.
func failure(why []byte) error {
	if why == nil {
		return nil
	}
	return fmt.Errorf("the search has failed: %s", why)
}

// errReplaced ends a coordinator's search when another process has taken over.
var errReplaced = errors.New("another process coordinates")

// vacant waits until no process is coordinating the search. It then writes a heartbeat for this process and returns its
// revision, or 0 if the search has ended in the meantime.
func (c *Campaign) vacant(ctx context.Context) (uint64, error) {
	var last uint64
	seen := time.Now()
	for {
		var revision uint64
		var value []byte
		err := c.persist(ctx, func(ctx context.Context) error {
			entry, err := c.keys.Get(ctx, keyCoordinator)
			switch {
			case errors.Is(err, jetstream.ErrKeyNotFound):
				revision, value = 0, nil
				return nil
			case err != nil:
				return err
			}
			revision, value = entry.Revision(), entry.Value()
			return nil
		})
		if err != nil {
			return 0, err
		}
		var s sign
		if revision != last {
			last, seen = revision, time.Now()
		}
		if value == nil || json.Unmarshal(value, &s) != nil || s.By == "" || time.Since(seen) > c.Patience {
			if taken, err := c.sign(ctx, sign{By: "a candidate"}, revision); taken != 0 || err != nil {
				return taken, err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(c.renewal()):
		}
		if over, err := c.Over(ctx); over || err != nil {
			return 0, err
		}
	}
}

// sign replaces the heartbeat that has the given revision. It returns the new revision, or 0 if another process has
// written a heartbeat in the meantime.
func (c *Campaign) sign(ctx context.Context, s sign, over uint64) (revision uint64, err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return 0, err
	}
	err = c.persist(ctx, func(ctx context.Context) error {
		var err error
		if over == 0 {
			revision, err = c.keys.Create(ctx, keyCoordinator, text)
		} else {
			revision, err = c.keys.Update(ctx, keyCoordinator, text, over)
		}
		if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			revision = 0
			return nil
		}
		return err
	})
	return revision, err
}

// preside performs the search, and writes heartbeats while it runs.
func (c *Campaign) preside(ctx context.Context, by string, revision uint64,
	search func(context.Context, *Director) error) error {
	searching, cancel := context.WithCancelCause(ctx)
	renewed := make(chan uint64)
	go func() {
		defer close(renewed)
		for beat := uint64(1); ; beat++ {
			next, err := c.sign(searching, sign{by, beat}, revision)
			if err != nil || next == 0 {
				cancel(errReplaced)
				return
			}
			revision = next
			select {
			case <-searching.Done():
				return
			case <-time.After(c.renewal()):
			}
		}
	}()
	d, err := c.direct(searching)
	if err == nil {
		err = search(searching, d)
	}
	replaced := errors.Is(context.Cause(searching), errReplaced) && ctx.Err() == nil
	cancel(nil)
	<-renewed
	switch {
	case replaced:
		return errReplaced
	case errors.Is(err, errAgain): // this process has counted results that another coordinator decided not to count
		return errReplaced
	case ctx.Err() != nil:
		c.resign(revision)
		return ctx.Err()
	case errors.As(err, new(*serverError)): // another coordinator may be more successful
		return err
	case err != nil:
		_, failed := c.writeOnce(ctx, keyFailed, []byte(err.Error()))
		return errors.Join(err, failed)
	}
	if err := d.report(ctx); err != nil {
		return err
	}
	_, err = c.writeOnce(ctx, keyFinished, []byte("{}"))
	return err
}

// resign lets another process take over immediately.
func (c *Campaign) resign(revision uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), tryFor)
	defer cancel()
	// If this fails, another process will take over when there has not been a heartbeat for Patience.
	c.keys.Delete(ctx, keyCoordinator, jetstream.LastRevision(revision))
}

// Stop requests that the search end early. If it is called more than once, the first reason is kept.
func (c *Campaign) Stop(ctx context.Context, reason string) error {
	has, err := c.writeOnce(ctx, keyStop, []byte(reason))
	if err == nil && !bytes.Equal(has, []byte(reason)) {
		return fmt.Errorf("campaign %s had already been stopped: %s", c.Name, has)
	}
	return err
}
