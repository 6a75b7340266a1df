package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Message headers. The body of a part's message is a portion's result, as encoded by the worker. A portion's message
// has no body.
const (
	headerCampaign = "Fencepost-Campaign" // the ID of the campaign
	headerLost     = "Fencepost-Lost"     // in a part: why there is no result
	headerTook     = "Fencepost-Took"     // in a part: the working time of its worker, in nanoseconds
	headerObject   = "Fencepost-Object"   // in a part: the name of the object that contains the result, if it is large
	headerSum      = "Fencepost-Sum"      // in a part: the checksum of its subject, body and other headers
)

// large is the minimum size, in bytes, of values that are stored as objects. Servers refuse large messages: by default,
// those over 1 MiB.
const large = 256 << 10

// partSum returns the checksum of a result's message. The checksum changes if the message is cut short, changed, or
// copied to another subject.
func partSum(subject string, h nats.Header, data []byte) string {
	text := fmt.Sprintf("%q %q %q %q %q ", subject, h.Get(headerCampaign), h.Get(headerLost), h.Get(headerTook),
		h.Get(headerObject))
	return sumOf(append([]byte(text), data...))
}

// whole checks that a result's message is exactly what the worker wrote.
func whole(m *jetstream.RawStreamMsg) error {
	if m.Header.Get(headerSum) != partSum(m.Subject, m.Header, m.Data) {
		return errors.New("it is damaged: its checksum does not match its content")
	}
	return nil
}

// object stores a large value in the object store and returns its name.
func (c *Campaign) object(ctx context.Context, value []byte) (name string, err error) {
	name = sumOf(value)
	return name, c.persist(ctx, func(ctx context.Context) error {
		if before, err := c.objects.GetBytes(ctx, name); err == nil && sumOf(before) == name {
			return nil
		}
		_, err := c.objects.PutBytes(ctx, name, value)
		return err
	})
}

// value reads an object from the object store, and checks that its content matches the checksum in its name.
func (c *Campaign) value(ctx context.Context, name string) (value []byte, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		value, err = c.objects.GetBytes(ctx, name)
		return err
	})
	if err == nil && sumOf(value) != name {
		err = errChanged
	}
	return value, err
}

var errChanged = errors.New("an object was changed on the server")

// spoiled reports whether an error means that the server has lost or changed an object.
func spoiled(err error) bool {
	return errors.Is(err, errChanged) || errors.Is(err, jetstream.ErrObjectNotFound) ||
		errors.Is(err, jetstream.ErrDigestMismatch)
}

// enqueue puts a portion on the queue, unless it is already there.
func (c *Campaign) enqueue(ctx context.Context, stage string, p portion) error {
	_, err := c.publish(ctx, nats.NewMsg(c.subjectOf(work, stage, p)))
	return err
}

// store stores a part, the result of a portion. If the portion already has a result, store keeps that one.
func (c *Campaign) store(ctx context.Context, stage string, p campaign.Part, took time.Duration) error {
	m := nats.NewMsg(c.subjectOf(parts, stage, portion{p.First, p.Size}))
	if len(p.Value) < large {
		m.Data = p.Value
	} else {
		name, err := c.object(ctx, p.Value)
		if err != nil {
			return err
		}
		m.Header.Set(headerObject, name)
	}
	m.Header.Set(headerTook, fmt.Sprint(int64(took)))
	if p.Lost != "" {
		m.Header.Set(headerLost, p.Lost)
	}
	m.Header.Set(headerCampaign, c.ID)
	m.Header.Set(headerSum, partSum(m.Subject, m.Header, m.Data))
	_, err := c.publish(ctx, m)
	return err
}

// stored reports whether a portion has a result that can be read.
func (c *Campaign) stored(ctx context.Context, stage string, p portion) (bool, error) {
	return c.readable(ctx, c.subjectOf(parts, stage, p))
}

// readable reports whether the server can return the result that is stored under a subject.
func (c *Campaign) readable(ctx context.Context, subject string) (yes bool, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		_, err := c.parts.GetLastMsgForSubject(ctx, subject)
		yes = err == nil
		if errors.Is(err, jetstream.ErrMsgNotFound) || errors.As(err, new(*jetstream.APIError)) && !full(err) {
			return nil
		}
		return err
	})
	return yes, err
}

// setAside records a message that cannot be interpreted, so that the status command can show it. The caller may then
// remove the message.
func (c *Campaign) setAside(ctx context.Context, subject string, sequence uint64, why error) error {
	text := fmt.Sprintf("%s: %s", subject, why)
	return c.put(ctx, fmt.Sprintf("%s%s", keyAside, token(fmt.Sprintf("%s-%d", subject, sequence))), []byte(text))
}

// checkOwner returns an error unless a message's headers name this campaign.
func (c *Campaign) checkOwner(h nats.Header) error {
	switch id := h.Get(headerCampaign); id {
	case c.ID:
		return nil
	case "":
		return errors.New("it is not a campaign message")
	default:
		return fmt.Errorf("it is a message of another campaign, %.12s", id)
	}
}

// get reads a key. It returns nil if the key does not exist.
func (c *Campaign) get(ctx context.Context, key string) (value []byte, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		entry, err := c.keys.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			value = nil
			return nil
		}
		if err == nil {
			value = entry.Value()
		}
		return err
	})
	return value, err
}

func (c *Campaign) put(ctx context.Context, key string, value []byte) error {
	return c.persist(ctx, func(ctx context.Context) error {
		_, err := c.keys.Put(ctx, key, value)
		return err
	})
}

// writeOnce writes a key unless it already has a value. It returns the value that the key then has.
func (c *Campaign) writeOnce(ctx context.Context, key string, value []byte) (has []byte, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		_, err := c.keys.Create(ctx, key, value)
		if errors.Is(err, jetstream.ErrKeyExists) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.get(ctx, key)
}

// readPrefix reads all keys that begin with a prefix. The map's keys are the names without the prefix.
func (c *Campaign) readPrefix(ctx context.Context, bucket jetstream.KeyValue, begin string) (all map[string][]byte,
	err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		all = map[string][]byte{}
		list, err := bucket.ListKeysFiltered(ctx, begin+">")
		if err != nil {
			return err
		}
		defer list.Stop()
		for key := range list.Keys() {
			switch entry, err := bucket.Get(ctx, key); {
			case errors.Is(err, jetstream.ErrKeyNotFound): // the key was deleted in the meantime
			case err != nil:
				return err
			default:
				all[key[len(begin):]] = entry.Value()
			}
		}
		return nil
	})
	return all, err
}

// ending records that a stage was stopped before it was complete.
type ending struct {
	Reason  string  `json:"reason"`
	Counted covered `json:"counted"` // the positions that had been counted
}

// declared is a stage as it is stored under its key.
type declared struct {
	campaign.Stage
	Object string `json:"object,omitempty"` // the object that contains the specification, if it is large
}

// declare writes a stage, unless an earlier coordinator has already written it.
func (c *Campaign) declare(ctx context.Context, key string, s campaign.Stage) error {
	d := declared{Stage: s}
	if len(s.Spec) >= large {
		var err error
		if d.Object, err = c.object(ctx, s.Spec); err != nil {
			return err
		}
		d.Spec = nil
	}
	text, err := json.Marshal(d)
	if err == nil {
		_, err = c.writeOnce(ctx, keyStage+key, text)
	}
	return err
}

// stage reads a stage that a coordinator has written. It returns nil if there is none.
func (c *Campaign) stage(ctx context.Context, key string) (*campaign.Stage, error) {
	text, err := c.get(ctx, keyStage+key)
	if err != nil || text == nil {
		return nil, err
	}
	var d declared
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	if d.Object != "" {
		d.Spec, err = c.value(ctx, d.Object)
	}
	return &d.Stage, err
}

// ended reads the record of a stage's early end. It returns nil if there is none.
func (c *Campaign) ended(ctx context.Context, key string) (*ending, error) {
	text, err := c.get(ctx, keyEnded+key)
	if err != nil || text == nil {
		return nil, err
	}
	e := new(ending)
	return e, json.Unmarshal(text, e)
}
