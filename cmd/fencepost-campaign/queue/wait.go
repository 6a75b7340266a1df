package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// silent is how long a server that is there may leave requests without an answer before that is reported. It is what
// NATS does with a message for a stream whose disk is full.
const silent = 2 * tryFor

// waiting is what the requests of a campaign wait for: it is said once, however many do, and told to whoever asks why
// nothing is stored.
type waiting struct {
	mu     sync.Mutex
	waits  int // requests that wait and have said why
	why    string
	answer *nats.Subscription
}

// wait is that of one request.
type wait struct {
	c     *Campaign
	since time.Time // the server is there, and has not answered since
}

// failed notes that a request has failed, and reports why it waits if that is known.
func (w *wait) failed(ctx context.Context, c *Campaign, err error) {
	switch {
	case full(err):
		w.wait(c, fmt.Sprintf("the server has no room left, and what is done waits for it: %s", err))
	case !unanswered(err) || !c.nc.IsConnected():
		w.since = time.Time{}
	default:
		why := access.Trouble(ctx, c.nc)
		if w.since.IsZero() {
			w.since = time.Now().Add(-tryFor)
		}
		if why == "" && time.Since(w.since) >= silent {
			why = fmt.Sprintf("the NATS server at %s is there, and does not answer requests to its store: if its disk "+
				"is full, make room and start it again; what is done waits for it", c.nc.ConnectedUrlRedacted())
		}
		if why != "" {
			w.wait(c, why)
		}
	}
}

// wait says why the request waits, unless another one has.
func (w *wait) wait(c *Campaign, why string) {
	c.waiting.mu.Lock()
	defer c.waiting.mu.Unlock()
	if w.c == nil {
		w.c = c
		c.waiting.waits++
	}
	if c.waiting.why == why {
		return
	}
	c.waiting.why = why
	c.waiting.stopTelling()
	c.waiting.answer, _ = access.Tell(c.nc, why) // if the server is gone meanwhile, nobody can ask
	if c.Notice != nil {
		c.Notice(why)
	}
}

// end ends the wait of a request.
func (w *wait) end() {
	if w.c == nil {
		return
	}
	all := &w.c.waiting
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.waits--; all.waits > 0 {
		return
	}
	all.why = ""
	all.stopTelling()
}

func (w *waiting) stopTelling() {
	if w.answer != nil {
		w.answer.Unsubscribe()
		w.answer = nil
	}
}
