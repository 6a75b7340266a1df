package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// A stream of NATS of which one write has failed, as on a full disk, stores nothing more until its server is started
// again, and answers nobody who publishes to it: only the log says so. So the server is watched: what it says is passed
// on, and when there is room again, it is started again in this process.

const (
	lookEvery = time.Second // at the server, and for room
	mostPause = time.Minute // before a server is started again that has failed again and again
)

// room is how many bytes must be free in the store before the server is started again: the largest message has room in
// it.
const room = maxPayload

// watch watches the server until ctx is done.
func (s *Server) watch(ctx context.Context) {
	defer close(s.watched)
	pause := lookEvery
	for began := time.Now(); wait(ctx, lookEvery); {
		why := s.log.stuck()
		if why == nil && !s.server.JetStreamEnabled() {
			why = errors.New("NATS has switched JetStream off")
		}
		if why == nil {
			continue
		}
		if time.Since(began) > mostPause {
			pause = lookEvery
		}
		s.heal(ctx, why, pause)
		began, pause = time.Now(), min(2*pause, mostPause)
	}
}

// wait waits, and reports whether ctx is not done.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// heal tells everybody that the server cannot store and why, and returns when it has started again, or ctx is done.
func (s *Server) heal(ctx context.Context, why error, pause time.Duration) {
	var telling *nats.Subscription
	for said := ""; ; {
		err := s.spare()
		if err == nil {
			if wait(ctx, pause) {
				err = s.again(ctx)
			}
			if err == nil {
				break
			}
		}
		if ctx.Err() != nil {
			break
		}
		if text := s.trouble(err); text != said {
			said = text
			s.options.Notice(text)
			telling = s.tell(telling, text)
		}
		wait(ctx, lookEvery)
	}
	if telling != nil {
		telling.Unsubscribe()
	}
	if ctx.Err() == nil {
		s.options.Notice(fmt.Sprintf("the server stores again: this process has started it anew after a write "+
			"failed: %s", why))
	}
}

// trouble says that nothing is stored, where, and why.
func (s *Server) trouble(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	folder := s.options.Folder
	if full, err := filepath.Abs(folder); err == nil {
		folder = full
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("the server stores nothing, and what is done waits: %s in %s on %s; "+
		"when %d MiB are free there, it goes on by itself", err, folder, host, room>>20)
}

// tell answers whoever asks why nothing is stored.
func (s *Server) tell(before *nats.Subscription, text string) *nats.Subscription {
	if before != nil {
		before.Unsubscribe()
	}
	now, err := access.Tell(s.nc, text)
	if err != nil { // the server itself may be down: its clients see that
		return nil
	}
	return now
}

// spare says why a file of the size of room cannot be written to the store.
func (s *Server) spare() (err error) {
	const name = "room"
	defer s.folder.Remove(name)
	file, err := s.folder.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	some := make([]byte, 1<<20)
	rand.Read(some) // so that it cannot be compressed
	for written := 0; written < room && err == nil; written += len(some) {
		_, err = file.Write(some)
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// again ends the NATS server and runs it anew, at the same address.
func (s *Server) again(ctx context.Context) error {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	return s.run(ctx)
}
