package access

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// storage is the NATS subject on which processes ask why the server cannot store messages. An answer gives the reason.
// As long as the server can store messages, nobody answers.
const storage = "fencepost.storage"

// answerWithin is how long Trouble waits for an answer.
const answerWithin = time.Second

// Tell answers processes that ask why the server does not store messages. It sends them the given reason until the
// subscription ends.
func Tell(nc *nats.Conn, why string) (*nats.Subscription, error) {
	return nc.Subscribe(storage, func(m *nats.Msg) { m.Respond([]byte(why)) })
}

// Trouble asks why the server does not store messages. The answer comes from the process that is running the server, or
// from a worker that is waiting for it. Trouble returns "" if nobody answers within a second.
func Trouble(ctx context.Context, nc *nats.Conn) string {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, storage, nil)
	if err != nil {
		return ""
	}
	return string(m.Data)
}
