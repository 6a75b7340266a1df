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

// Campaign is one process's access to a campaign, which is a set of runs that several workers share. The campaign is
// stored on a server.
type Campaign struct {
	Name string
	Spec
	ID string // the checksum of the specification

	// Notice, if set, is called while a request is waiting. Its argument tells the user why the request is waiting, for
	// example because the server is full. Several goroutines may call it at once.
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

// Spec describes what a campaign runs. Every participating process reads it from the server.
type Spec struct {
	What json.RawMessage `json:"what"` // what to search; this package does not interpret it
	// checksum of each file's content, by file name; the contents are stored as objects
	Files map[string]string `json:"files"`
	// Patience is how long a process may go without writing a heartbeat before another process replaces it.
	Patience time.Duration `json:"patience"`
}

// The keys in a campaign's bucket. Those that end in a dot are prefixes.
const (
	keySpec        = "campaign" // written last when a campaign is created
	keyCoordinator = "coordinator"
	keyProgress    = "progress"
	keyStop        = "stop"     // the reason for which a user asked the campaign to stop
	keyFinished    = "finished" // set once the search has ended
	keyFailed      = "failed"   // why the search cannot continue
	keyStage       = "stage."
	keyEnded       = "ended." // a stage that was stopped before it was complete
	keyWorker      = "worker."
	keyAside       = "aside." // a message that was set aside
)

// consumer is the name of the JetStream consumer through which all workers fetch portions (ranges of jobs).
const consumer = "workers"

// ErrOther reports that a campaign with the same name is running something else.
var ErrOther = errors.New("already exists and runs something else")

// ErrNone reports that there is no campaign with that name.
var ErrNone = errors.New("no such campaign")

// answerWithin is how long a command waits for the server to answer.
const answerWithin = 10 * time.Second

// Create creates a campaign. If there already is a campaign with the same name, Create opens it, provided that it runs
// the same search; otherwise, Create returns ErrOther. If the process dies during Create, the next call to Create
// completes the campaign.
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

// stream creates a stream. It returns an error if there is already a stream with the same name but another
// configuration: ErrOther if that stream belongs to a campaign, and otherwise an error that names the stream.
func (c *Campaign) stream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := c.js.CreateStream(ctx, config)
	if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return s, err
	}
	if s, err = c.js.Stream(ctx, config.Name); err != nil {
		return nil, err
	}
	if s.CachedInfo().Config.Metadata["fencepost"] == "" {
		return nil, fmt.Errorf("the server has a stream %s that belongs to no campaign: choose another name",
			config.Name)
	}
	return nil, ErrOther
}

// Open opens a campaign. It returns ErrNone if there is no campaign with that name.
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
		return fmt.Errorf("the server's bucket %s does not hold a campaign: %w", bucketOf(c.Name), err)
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

// File returns the content of one of the campaign's files. It returns an error if the campaign does not have the file,
// or if the server has lost or changed it.
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

// List returns the names of the campaigns on a server, sorted.
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

// Remove removes a campaign and everything it has found.
func (c *Campaign) Remove(ctx context.Context) error {
	gone := func(err error) error {
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
			return nil
		}
		return err
	}
	err := c.persist(ctx, func(ctx context.Context) error {
		return errors.Join( // Remove the bucket last: the campaign exists for as long as its bucket does.
			gone(c.js.DeleteStream(ctx, workOf(c.Name))), gone(c.js.DeleteStream(ctx, partsOf(c.Name))),
			gone(c.js.DeleteKeyValue(ctx, presentOf(c.Name))), gone(c.js.DeleteObjectStore(ctx, bucketOf(c.Name))),
			gone(c.js.DeleteKeyValue(ctx, bucketOf(c.Name))))
	})
	if errors.Is(err, ErrRemoved) {
		return nil
	}
	return err
}

// sumOf returns the SHA-256 sum of content, in hex.
func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
