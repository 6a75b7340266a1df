package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Campaign is a campaign in a server, as one process sees it.
type Campaign struct {
	Name string
	Spec
	ID string // a sum of the specification

	// Notice, if set, is called with what a person must know while it is waited for, such as that the server is full.
	// It may be called by several goroutines.
	Notice func(string)

	waiting waiting
	opened  bool
	nc      *nats.Conn
	js      jetstream.JetStream
	keys    jetstream.KeyValue
	present jetstream.KeyValue
	objects jetstream.ObjectStore
	work    jetstream.Stream
	parts   jetstream.Stream
	workers jetstream.Consumer
}

// Spec says what a campaign runs. Whoever takes part in it has it from the server.
type Spec struct {
	What  json.RawMessage   `json:"what"`  // for whoever makes workers and searches of it
	Files map[string]string `json:"files"` // the sums of the contents of files, by name; the contents are objects
	// Patience is how long a process may be silent before another takes its place.
	Patience time.Duration `json:"patience"`
}

// The keys of a campaign's bucket. Those with a dot begin the keys of many.
const (
	keySpec        = "campaign" // written last when a campaign is created
	keyCoordinator = "coordinator"
	keyProgress    = "progress"
	keyStop        = "stop"     // why somebody asked it to stop
	keyFinished    = "finished" // the search has ended
	keyFailed      = "failed"   // why the search cannot go on
	keyStage       = "stage."
	keyEnded       = "ended." // a stage that was ended before all of it was made
	keyWorker      = "worker."
	keyAside       = "aside." // a message that was put aside
)

// consumer is the one by which all workers take portions.
const consumer = "workers"

// ErrOther reports that a campaign of that name runs something else.
var ErrOther = errors.New("is there already and runs something else")

// ErrNone reports that there is no such campaign.
var ErrNone = errors.New("there is no such campaign")

// answerWithin is how long the server may take to answer before a command gives up.
const answerWithin = 10 * time.Second

// Create makes a campaign, or opens the one of that name if it runs the same. The error is ErrOther if that runs
// something else. A process that ends within leaves nothing that the next call does not complete.
func Create(ctx context.Context, nc *nats.Conn, name string, what json.RawMessage, files map[string][]byte,
	patience time.Duration) (*Campaign, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	c := &Campaign{Name: name, Spec: Spec{what, map[string]string{}, patience}, nc: nc, js: js}
	for file, content := range files {
		c.Files[file] = sumOf(content)
	}
	text, err := json.Marshal(c.Spec)
	if err != nil {
		return nil, err
	}
	c.ID = sumOf(text)
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err = c.persist(ctx, func(ctx context.Context) error { return c.create(ctx, text, files) })
	if err != nil {
		return nil, fmt.Errorf("campaign %s: %w", name, err)
	}
	c.opened = true
	return c, nil
}

func (c *Campaign) create(ctx context.Context, text []byte, files map[string][]byte) (err error) {
	ours := map[string]string{"fencepost": "campaign"}
	c.keys, err = c.js.KeyValue(ctx, bucketOf(c.Name))
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound):
		c.keys, err = c.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucketOf(c.Name), Metadata: ours})
		if err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if before, err := c.keys.Get(ctx, keySpec); err == nil && string(before.Value()) != string(text) {
			return ErrOther
		}
	}
	c.objects, err = c.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucketOf(c.Name),
		Metadata: ours})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := c.Files[name]
		if _, err := c.objects.GetInfo(ctx, sum); err == nil {
			continue
		}
		if _, err := c.objects.PutBytes(ctx, sum, files[name]); err != nil {
			return err
		}
	}
	if c.present, err = c.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: presentOf(c.Name),
		TTL: 2 * c.Patience, Metadata: ours}); err != nil {
		return err
	}
	if err := c.createStreams(ctx, ours); err != nil {
		return err
	}
	if _, err = c.keys.Create(ctx, keySpec, text); errors.Is(err, jetstream.ErrKeyExists) {
		before, err := c.keys.Get(ctx, keySpec)
		if err == nil && string(before.Value()) != string(text) {
			return ErrOther
		}
		return err
	}
	return err
}

func (c *Campaign) createStreams(ctx context.Context, ours map[string]string) (err error) {
	c.work, err = c.stream(ctx, jetstream.StreamConfig{Name: workOf(c.Name), Metadata: ours,
		Subjects: []string{subject + c.Name + "." + work + ".>"}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1})
	if err != nil {
		return err
	}
	c.workers, err = c.work.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: consumer,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.Patience, MaxDeliver: -1, MaxAckPending: -1})
	if err != nil {
		return err
	}
	c.parts, err = c.stream(ctx, jetstream.StreamConfig{Name: partsOf(c.Name), Metadata: ours,
		Subjects: []string{subject + c.Name + "." + parts + ".>"}, Compression: jetstream.S2Compression,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1, AllowDirect: true})
	return err
}

// stream creates a stream, or opens the one of that name if it is a campaign's.
func (c *Campaign) stream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := c.js.CreateStream(ctx, config)
	if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return s, err
	}
	if s, err = c.js.Stream(ctx, config.Name); err != nil {
		return nil, err
	}
	if s.CachedInfo().Config.Metadata["fencepost"] == "" {
		return nil, fmt.Errorf("the server has a stream %s that is not of a campaign: choose another name", config.Name)
	}
	return nil, ErrOther
}

// Open opens a campaign. The error is ErrNone if there is none of that name.
func Open(ctx context.Context, nc *nats.Conn, name string) (*Campaign, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	c := &Campaign{Name: name, nc: nc, js: js}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := c.persist(ctx, c.open); err != nil {
		return nil, fmt.Errorf("campaign %s: %w", name, err)
	}
	c.opened = true
	return c, nil
}

func (c *Campaign) open(ctx context.Context) (err error) {
	none := func(err error) error {
		if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrKeyNotFound) {
			return ErrNone
		}
		return err
	}
	if c.keys, err = c.js.KeyValue(ctx, bucketOf(c.Name)); err != nil {
		return none(err)
	}
	entry, err := c.keys.Get(ctx, keySpec)
	if err != nil {
		return none(err)
	}
	if err := json.Unmarshal(entry.Value(), &c.Spec); err != nil {
		return fmt.Errorf("the server's bucket %s is not of a campaign: %w", bucketOf(c.Name), err)
	}
	c.ID = sumOf(entry.Value())
	if c.present, err = c.js.KeyValue(ctx, presentOf(c.Name)); err != nil {
		return err
	}
	if c.objects, err = c.js.ObjectStore(ctx, bucketOf(c.Name)); err != nil {
		return err
	}
	if c.work, err = c.js.Stream(ctx, workOf(c.Name)); err != nil {
		return err
	}
	if c.workers, err = c.work.Consumer(ctx, consumer); err != nil {
		return err
	}
	c.parts, err = c.js.Stream(ctx, partsOf(c.Name))
	return err
}

// File is the content of a file that is run. An error says that the server has lost or changed it.
func (c *Campaign) File(ctx context.Context, name string) (content []byte, err error) {
	sum, known := c.Files[name]
	if !known {
		return nil, fmt.Errorf("campaign %s has no file %s", c.Name, name)
	}
	content, err = c.value(ctx, sum)
	if err != nil {
		return nil, fmt.Errorf("file %s of campaign %s: %w", name, c.Name, err)
	}
	return content, nil
}

// List names the campaigns of a server.
func List(ctx context.Context, nc *nats.Conn) (names []string, err error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err = (&Campaign{}).persist(ctx, func(ctx context.Context) error {
		names = nil
		list := js.KeyValueStoreNames(ctx)
		for bucket := range list.Name() {
			if name, ours := strings.CutPrefix(bucket, prefix); ours && CheckName(name) == nil {
				names = append(names, name)
			}
		}
		return list.Error()
	})
	slices.Sort(names)
	return names, err
}

// Remove removes a campaign with all that was found.
func (c *Campaign) Remove(ctx context.Context) error {
	gone := func(err error) error {
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
			return nil
		}
		return err
	}
	err := c.persist(ctx, func(ctx context.Context) error {
		return errors.Join( // the bucket last: while it is there, so is the campaign
			gone(c.js.DeleteStream(ctx, workOf(c.Name))), gone(c.js.DeleteStream(ctx, partsOf(c.Name))),
			gone(c.js.DeleteKeyValue(ctx, presentOf(c.Name))), gone(c.js.DeleteObjectStore(ctx, bucketOf(c.Name))),
			gone(c.js.DeleteKeyValue(ctx, bucketOf(c.Name))))
	})
	if errors.Is(err, ErrRemoved) {
		return nil
	}
	return err
}

// sumOf names a content.
func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
