package queue

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// State is the state of a campaign, without its findings.
type State struct {
	Progress
	Finished bool
	Failed   string   // why the search cannot continue; empty if it can
	Stopped  string   // the reason with which a user requested a stop; empty if nobody has
	Workers  []Worker // all workers that have joined, sorted by ID
	Aside    []string // messages that could not be interpreted, with the reasons
	Stored   Stored
	Trouble  string // why the server does not store messages; empty if no problem is known
}

// Worker describes a worker that has joined.
type Worker struct {
	ID string `json:"id"`
	Present
	Here bool `json:"here"` // whether it has recently written a heartbeat
}

// Stored is the amount of data that the server stores for a campaign.
type Stored struct {
	Waiting uint64 `json:"waiting"` // number of portions that are queued or in progress
	Parts   uint64 `json:"parts"`
	Bytes   uint64 `json:"bytes"` // size of the results on the server's disk, in bytes
}

// State reads the whole state from the server.
func (c *Campaign) State(ctx context.Context) (*State, error) {
	s := &State{}
	var err error
	if s.Progress, err = c.Progress(ctx); err != nil {
		return nil, err
	}
	over, err := c.get(ctx, keyFinished)
	if err != nil {
		return nil, err
	}
	failed, err := c.get(ctx, keyFailed)
	if err != nil {
		return nil, err
	}
	stop, err := c.get(ctx, keyStop)
	if err != nil {
		return nil, err
	}
	s.Trouble = access.Trouble(ctx, c.nc)
	s.Finished, s.Failed, s.Stopped = over != nil, string(failed), string(stop)
	if err := c.workersOf(ctx, s); err != nil {
		return nil, err
	}
	aside, err := c.readPrefix(ctx, c.keys, keyAside)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(aside)) {
		s.Aside = append(s.Aside, string(aside[key]))
	}
	err = c.persist(ctx, func(ctx context.Context) error {
		queue, err := c.work.Info(ctx)
		if err != nil {
			return err
		}
		made, err := c.parts.Info(ctx)
		if err != nil {
			return err
		}
		s.Stored = Stored{queue.State.Msgs, made.State.Msgs, made.State.Bytes}
		return nil
	})
	return s, err
}

// Farewell waits until every worker has noticed that the campaign is over. It gives up after the longest time that a
// worker may take to notice.
func (c *Campaign) Farewell() {
	ctx, cancel := context.WithTimeout(context.Background(), fetchFor+time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if here, err := c.readPrefix(ctx, c.present, ""); err == nil && len(here) == 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(tryAgain):
		}
	}
}

func (c *Campaign) workersOf(ctx context.Context, s *State) error {
	all, err := c.readPrefix(ctx, c.keys, keyWorker)
	if err != nil {
		return err
	}
	here, err := c.readPrefix(ctx, c.present, "")
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		w := Worker{ID: id}
		text := all[id]
		if now, ok := here[id]; ok {
			text, w.Here = now, true
		}
		if err := json.Unmarshal(text, &w.Present); err != nil {
			return err
		}
		s.Workers = append(s.Workers, w)
	}
	return nil
}
