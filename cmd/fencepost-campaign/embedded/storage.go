package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fencepost-sim/fencepost/checker/safefile"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// When a write to a NATS stream fails, for example because the disk is full, the stream stops storing messages until
// the server is restarted. It does not answer clients that publish to it; only the server's log says what happened. So
// the process that runs the server watches that log, reports the failure, and restarts the server when there is room
// again.

const (
	lookEvery = time.Second // the interval between checks of the log, or of the free space
	mostPause = time.Minute // the maximum wait before a server that keeps failing is restarted
)

// room is how many bytes must be free on the server's disk before the server is restarted. That is enough for the
// largest message.
const room = maxPayload

// watch restarts the server whenever it has stopped storing messages. It returns when ctx is done.
func (s *Server) watch(ctx context.Context) {
	defer close(s.watched)
	pause := lookEvery
	for began := time.Now(); wait(ctx, lookEvery); {
		why := s.log.stuck()
		if why == nil && !s.server.JetStreamEnabled() {
			why = errors.New("NATS has disabled JetStream")
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

// wait waits for d. It returns false if ctx is done first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// heal restarts the server as soon as there is room on the disk. Until then, it tells users and clients why nothing is
// being stored. It returns when the server has been restarted or ctx is done.
func (s *Server) heal(ctx context.Context, why error, pause time.Duration) {
	var telling *nats.Subscription
	for said := ""; ; {
		err := s.spare()
		if err == nil {
			if wait(ctx, pause) {
				err = s.restart(ctx)
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
		s.options.Notice(fmt.Sprintf("the server stores data again; it was restarted after a failed write: %s", why))
	}
}

// trouble returns the notice that messages are not being stored. It says where they should have been stored, and why
// that failed.
func (s *Server) trouble(err error) string {
	folder := s.options.Folder
	if full, err := filepath.Abs(folder); err == nil {
		folder = full
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("the server cannot store results, and all work waits: %s in %s on %s; "+
		"it continues by itself when %d MiB are free there", safefile.Reason(err), folder, host, room>>20)
}

// tell replaces the answer given to clients that ask why nothing is being stored.
func (s *Server) tell(before *nats.Subscription, text string) *nats.Subscription {
	if before != nil {
		before.Unsubscribe()
	}
	now, err := access.Tell(s.nc, text)
	if err != nil { // the server may be down; its clients notice that by themselves
		return nil
	}
	return now
}

// spare checks whether the server's disk has enough free space, by writing a file with a size of room bytes and
// removing it again. If that fails, the error says why.
func (s *Server) spare() (err error) {
	const name = "room"
	defer s.folder.Remove(name)
	file, err := s.folder.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	some := make([]byte, 1<<20)
	rand.Read(some) // the bytes are random, so that the file cannot be compressed
	for written := 0; written < room && err == nil; written += len(some) {
		_, err = file.Write(some)
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// restart restarts the NATS server at the same address.
func (s *Server) restart(ctx context.Context) error {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	return s.run(ctx)
}
