package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// silent is how long a connected server may leave requests unanswered before the delay is reported. NATS does not
// answer if a stream's disk is full.
const silent = 2 * tryFor

// waiting is the reason why a campaign's requests are waiting. It is reported only once, even if many requests are
// waiting. If a process asks why messages are not being stored, it gets this reason.
type waiting struct {
	mu     sync.Mutex
	waits  int // number of waiting requests that have given a reason
	why    string
	answer *nats.Subscription
}

// wait is the state of a request that is repeated until it succeeds.
type wait struct {
	c     *Campaign
	since time.Time // since when the connected server has not answered; zero if it has
}

// failed records that an attempt has failed, and reports why the request has to wait, if that is known.
func (w *wait) failed(ctx context.Context, c *Campaign, err error) {
	switch {
	case full(err):
		w.wait(c, fmt.Sprintf("the server is full, and all work waits until it has room: %s", err))
	case !unanswered(err) || !c.nc.IsConnected():
		w.since = time.Time{}
	default:
		why := access.Trouble(ctx, c.nc)
		if w.since.IsZero() {
			w.since = time.Now().Add(-tryFor)
		}
		if why == "" && time.Since(w.since) >= silent {
			why = fmt.Sprintf("the NATS server at %s is connected but does not answer storage requests: "+
				"if its disk is full, make room and restart the server; all work waits until then",
				c.nc.ConnectedUrlRedacted())
		}
		if why != "" {
			w.wait(c, why)
		}
	}
}

// wait reports why the request is waiting, unless another request has already reported the same reason.
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
	// the error can be ignored: without a connection, no other process can ask for the reason anyway
	c.waiting.answer, _ = access.Tell(c.nc, why)
	if c.Notice != nil {
		c.Notice(why)
	}
}

// end records that the request is no longer waiting.
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
