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
	tryFor   = 5 * time.Second        // how long one attempt at a request may take
	tryAgain = 250 * time.Millisecond // pause between attempts
)

// persist repeats a request until it succeeds, the server refuses it for good, or ctx is done. It waits while the
// server is down or full.
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

// serverError is an error from the server, or from the connection to it. It does not mean that the search has failed.
type serverError struct{ error }

// Unwrap returns the wrapped error.
func (e *serverError) Unwrap() error { return e.error }

// ErrRemoved reports that a campaign has been removed from the server.
var ErrRemoved = errors.New("has been removed")

// removed reports whether the server says that the campaign no longer exists. It returns false if the server does not
// answer.
func (c *Campaign) removed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	_, err := c.js.KeyValue(ctx, bucketOf(c.Name))
	return errors.Is(err, jetstream.ErrBucketNotFound)
}

// passing reports whether a failed request might succeed later, because nobody answered or the server cannot serve it
// at the moment.
func passing(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code >= 500 || full(err)
	}
	return unanswered(err) || slices.ContainsFunc([]error{nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrStaleConnection, jetstream.ErrServerShutdown},
		func(e error) bool { return errors.Is(err, e) })
}

// unanswered reports whether an error means that nobody answered the request.
func unanswered(err error) bool {
	return slices.ContainsFunc([]error{nats.ErrTimeout, nats.ErrNoResponders, context.DeadlineExceeded,
		jetstream.ErrNoStreamResponse}, func(e error) bool { return errors.Is(err, e) })
}

// fullCodes lists the NATS error codes that mean a memory or storage limit was exceeded (nats-server's errors.json).
var fullCodes = []jetstream.ErrorCode{
	10002, // the account's resources are used up
	10023, // the server's resources are used up
	10028, // the server's memory is full
	10047, // the server's storage is full
	10077, // the stream cannot store more
}

func full(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(fullCodes, api.ErrorCode)
}

// publish stores a message under a subject. If the subject already has a message, publish keeps the existing one and
// returns true.
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
