package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	tryFor   = 5 * time.Second        // how long one request may take
	tryAgain = 250 * time.Millisecond // between two
)

// persist repeats a request until the server has answered it, or ctx is done: servers go away and come back, and full
// ones are given room. It returns the answer at once if it is that of a server that works.
func (c *Campaign) persist(ctx context.Context, request func(context.Context) error) error {
	var w wait
	defer w.end()
	for {
		within, cancel := context.WithTimeout(ctx, tryFor)
		err := request(within)
		cancel()
		if err == nil {
			return nil
		}
		if c.opened && c.removed(ctx) {
			return &serverError{fmt.Errorf("campaign %s %w", c.Name, ErrRemoved)}
		}
		if !passing(err) {
			return &serverError{err}
		}
		w.failed(ctx, c, err)
		select {
		case <-ctx.Done():
			return &serverError{errors.Join(ctx.Err(), err)}
		case <-time.After(tryAgain):
		}
	}
}

// serverError is what a server has answered. It says nothing of the search.
type serverError struct{ error }

// Unwrap is the server's.
func (e *serverError) Unwrap() error { return e.error }

// ErrRemoved reports that a campaign is no longer there.
var ErrRemoved = errors.New("was removed meanwhile")

// removed reports whether the server has the campaign no longer. A server that does not answer may have it.
func (c *Campaign) removed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	_, err := c.js.KeyValue(ctx, bucketOf(c.Name))
	return errors.Is(err, jetstream.ErrBucketNotFound)
}

// passing reports whether a request may succeed later: nobody answered, or the server cannot do it now.
func passing(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code >= 500 || full(err)
	}
	return unanswered(err) || slices.ContainsFunc([]error{nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrStaleConnection, jetstream.ErrServerShutdown},
		func(e error) bool { return errors.Is(err, e) })
}

// unanswered reports whether nobody has answered a request.
func unanswered(err error) bool {
	return slices.ContainsFunc([]error{nats.ErrTimeout, nats.ErrNoResponders, context.DeadlineExceeded,
		jetstream.ErrNoStreamResponse}, func(e error) bool { return errors.Is(err, e) })
}

// fullCodes are the codes of the server's errors that say that a limit of its memory or store is reached
// (errors.json of nats-server).
var fullCodes = []jetstream.ErrorCode{
	10002, // the account's resources
	10023, // the server's resources
	10028, // its memory
	10047, // its disk
	10077, // the stream cannot store more
}

func full(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(fullCodes, api.ErrorCode)
}

// publish stores a message under a subject that has none. It reports whether there was one before, which stays.
func (c *Campaign) publish(ctx context.Context, m *nats.Msg) (before bool, err error) {
	m.Header.Set(headerCampaign, c.ID)
	err = c.persist(ctx, func(ctx context.Context) error {
		_, err := c.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(0))
		return err
	})
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
		return true, nil
	}
	return false, err
}
