package access

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// storage is the NATS subject on which processes ask why the server stores nothing. While the server does store, nobody
// answers.
const storage = "fencepost.storage"

// answerWithin is how long Trouble waits for an answer.
const answerWithin = time.Second

// Tell answers the question why the server stores nothing, until the subscription ends.
func Tell(nc *nats.Conn, why string) (*nats.Subscription, error) {
	return nc.Subscribe(storage, func(m *nats.Msg) { m.Respond([]byte(why)) })
}

// Trouble asks why the server stores nothing. The process that runs the server answers, or a worker that is waiting for
// the server. Trouble returns "" if nobody answers within a second.
func Trouble(ctx context.Context, nc *nats.Conn) string {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, storage, nil)
	if err != nil {
		return ""
	}
	return string(m.Data)
}
