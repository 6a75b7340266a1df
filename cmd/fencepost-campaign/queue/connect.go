package queue

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

// Access is how to get to a server. Its fields are NATS's, as is what they mean.
type Access struct {
	URL           string // may hold a user with a password, or a token; several with commas between them
	Creds         string // a file; empty: none, as those below
	CA, Cert, Key string // files for TLS
}

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
				notice(fmt.Sprintf("the NATS server at %s has gone (%s): this waits until it is back", at, err))
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
	case err == nil:
		return nc, nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err,
		nats.ErrAuthRevoked):
		return nil, fmt.Errorf("the NATS server at %s refuses these credentials: %w", at, err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return nil, fmt.Errorf("no NATS server answers at %s: %w", at, err)
	}
	return nil, fmt.Errorf("cannot use the NATS server at %s: %w", at, err)
}

// Shown is the URL without its secrets.
func (a Access) Shown() string {
	u, err := url.Parse(a.URL)
	if err != nil || u.User == nil {
		return a.URL
	}
	u.User = nil
	return cmp.Or(u.String(), a.URL)
}
