package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Access is how to get to a server. Its fields are NATS's, as is what they mean.
type Access struct {
	URL           string // may hold a user with a password, or a token; several with commas between them
	Creds         string // a file; empty: none, as those below
	CA, Cert, Key string // files for TLS
}

// ErrRefused reports that a server lets nobody in with the credentials.
var ErrRefused = errors.New("refuses these credentials")

// connectWithin is how long a server may take to let a client in.
const connectWithin = 5 * time.Second

// Connect connects to a server that is there, and from then on comes back to it for as long as it takes. Notice, if not
// nil, is called when the server has gone and when it is back, by another goroutine.
func (a Access) Connect(name string, notice func(string)) (*nats.Conn, error) {
	if notice == nil {
		notice = func(string) {}
	}
	at := a.Shown()
	options := []nats.Option{nats.Name(name), nats.Timeout(connectWithin), nats.MaxReconnects(-1),
		nats.ReconnectWait(tryAgain), nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				notice(fmt.Sprintf("the NATS server at %s has gone, and what is under way waits for it", at))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { notice(fmt.Sprintf("the NATS server at %s is back", at)) })}
	if a.Creds != "" {
		if _, err := os.Stat(a.Creds); err != nil {
			return nil, fmt.Errorf("--creds: %w", err)
		}
		options = append(options, nats.UserCredentials(a.Creds))
	}
	if a.CA != "" {
		options = append(options, nats.RootCAs(a.CA))
	}
	if a.Cert != "" || a.Key != "" {
		options = append(options, nats.ClientCert(a.Cert, a.Key))
	}
	nc, err := nats.Connect(a.URL, options...)
	switch {
	case err == nil && !keepsCampaigns(nc):
		nc.Close()
		return nil, fmt.Errorf("the NATS server at %s has no JetStream, in which campaigns are kept", at)
	case err == nil:
		return nc, nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired),
		errors.Is(err, nats.ErrAuthRevoked):
		return nil, fmt.Errorf("the NATS server at %s %w: %w", at, ErrRefused, err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return nil, fmt.Errorf("no NATS server answers at %s: %w", at, err)
	}
	return nil, fmt.Errorf("cannot use the NATS server at %s: %w", at, err)
}

// keepsCampaigns reports whether a server has JetStream, as far as it says.
func keepsCampaigns(nc *nats.Conn) bool {
	js, err := jetstream.New(nc)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectWithin)
	defer cancel()
	_, err = js.AccountInfo(ctx)
	return !errors.Is(err, jetstream.ErrJetStreamNotEnabled) &&
		!errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) && !errors.Is(err, nats.ErrNoResponders)
}

// Shown is the URL without its secrets.
func (a Access) Shown() string {
	var shown []string
	for one := range strings.SplitSeq(a.URL, ",") {
		if _, address, secret := strings.Cut(one, "@"); secret {
			one = "nats://" + address
		}
		shown = append(shown, strings.TrimSpace(one))
	}
	return strings.Join(shown, ",")
}
