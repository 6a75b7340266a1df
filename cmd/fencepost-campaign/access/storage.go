package access

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// storage is the subject under which one may ask why the server stores nothing. Nobody answers while it stores.
const storage = "fencepost.storage"

// answerWithin is how long one may take to say why nothing is stored.
const answerWithin = time.Second

// Tell answers whoever asks why the server stores nothing, until the subscription ends.
func Tell(nc *nats.Conn, why string) (*nats.Subscription, error) {
	return nc.Subscribe(storage, func(m *nats.Msg) { m.Respond([]byte(why)) })
}

// Trouble is why the server stores nothing: as the process says that runs it, or a worker that waits for it. It is
// empty if nobody knows of anything.
func Trouble(ctx context.Context, nc *nats.Conn) string {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, storage, nil)
	if err != nil {
		return ""
	}
	return string(m.Data)
}
