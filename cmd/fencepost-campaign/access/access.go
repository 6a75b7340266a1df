// Package access contains what a process needs to reach a campaign's NATS server, and to verify that it has reached the
// right one.
//
// Goals: until the server has shown the certificate in the campaign's folder, a process does not send it anything or
// believe anything that it says. No password or token is ever printed.
//
// Non-goals: the accounts and transport of NATS servers that users run themselves.
package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Server says how to reach a server and how to authenticate with it. The files and the URL have the same meaning as in
// NATS.
type Server struct {
	// may contain a user and password, or a token; several URLs are separated by commas
	URL   string `json:"url,omitempty"`
	Token string `json:"token,omitempty"` // used instead of a token in the URL
	// Certificate, in PEM, is the only certificate that the server may present. If it is empty, any certificate signed
	// by a trusted authority is accepted.
	Certificate string `json:"certificate,omitempty"`
	Listen      string `json:"listen,omitempty"` // where an embedded server was told to listen, as host:port
	// Binaries lists the SHA-256 sums, in hex, of the test binaries that may be executed on this machine.
	Binaries []string `json:"binaries,omitempty"`

	Creds string `json:"creds,omitempty"` // path of a file; empty: none (also for the fields below)
	CA    string `json:"ca,omitempty"`    // this and the next two fields: paths of TLS files
	Cert  string `json:"cert,omitempty"`
	Key   string `json:"key,omitempty"`
}

// ErrRefused reports that a server rejected the credentials.
var ErrRefused = errors.New("rejects the credentials")

// ErrOther reports that the program at the server's address is not the campaign's server.
var ErrOther = errors.New("is not the server of this campaign")

// Name is the host name in every embedded server's certificate, wherever the server listens.
const Name = "fencepost-campaign"

const (
	connectWithin = 5 * time.Second        // how long a server may take to accept a connection
	tryAgain      = 250 * time.Millisecond // the interval between attempts to reconnect
)

// schemes lists the schemes that a NATS server's URL may have.
var schemes = []string{"nats", "tls", "ws", "wss"}

// Check returns an error unless the URL can be parsed. The error does not quote any part of the URL, because it may
// contain a password.
func (a Server) Check() error {
	_, err := a.urls()
	return err
}

func (a Server) urls() (all []*url.URL, err error) {
	for one := range strings.SplitSeq(a.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" || u.RawQuery != "" ||
			u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
			return nil, errors.New("cannot parse the URL of the NATS server: " +
				"write it as nats://HOST:4222; separate several with commas; " +
				"percent-encode special characters in a user name or password, such as %40 for @")
		}
		all = append(all, u)
	}
	return all, nil
}

// Secret reports whether the URL contains a user, a password or a token.
func (a Server) Secret() bool {
	all, err := a.urls()
	return err != nil && strings.Contains(a.URL, "@") ||
		slices.ContainsFunc(all, func(u *url.URL) bool { return u.User != nil })
}

// Shown returns the URL without its secrets, for messages.
func (a Server) Shown() string {
	all, err := a.urls()
	if err != nil {
		return "an invalid URL"
	}
	var shown []string
	for _, u := range all {
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return strings.Join(shown, ",")
}

// Connect connects to a server, which must currently be reachable. If the connection is lost later, it is restored, no
// matter how long that takes. notice, if not nil, is called from another goroutine when the server becomes unreachable
// and when it is back.
func (a Server) Connect(name string, notice func(string)) (*nats.Conn, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	if notice == nil {
		notice = func(string) {}
	}
	at := a.Shown()
	options := []nats.Option{nats.Name(name), nats.Timeout(connectWithin), nats.MaxReconnects(-1),
		nats.ReconnectWait(tryAgain), nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				notice(fmt.Sprintf("lost the connection to the NATS server at %s; work waits until it is back", at))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { notice(fmt.Sprintf("the NATS server at %s is back", at)) })}
	secrets, err := a.secrets()
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(a.URL, append(options, secrets...)...)
	switch {
	case err == nil && !keepsCampaigns(nc):
		nc.Close()
		return nil, fmt.Errorf("the NATS server at %s does not have JetStream enabled, which campaigns need", at)
	case err == nil:
		return nc, nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired),
		errors.Is(err, nats.ErrAuthRevoked):
		return nil, fmt.Errorf("the NATS server at %s %w: %w", at, ErrRefused, err)
	case a.Certificate != "" && (errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(tls.RecordHeaderError))):
		return nil, fmt.Errorf("nothing was sent to the program that listens at %s: it %w: %w", at, ErrOther, err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return nil, fmt.Errorf("no NATS server answers at %s: %w", at, err)
	}
	return nil, fmt.Errorf("cannot use the NATS server at %s: %w", at, err)
}

// secrets returns the connection options that let client and server authenticate each other.
func (a Server) secrets() (options []nats.Option, err error) {
	if a.Token != "" {
		options = append(options, nats.Token(a.Token))
	}
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
	if a.Certificate == "" {
		return options, nil
	}
	pinned := x509.NewCertPool()
	if !pinned.AppendCertsFromPEM([]byte(a.Certificate)) {
		return nil, errors.New("cannot parse the certificate of the campaign's server")
	}
	return append(options, nats.TLSHandshakeFirst(), nats.DontRandomize(), nats.IgnoreDiscoveredServers(),
		nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pinned, ServerName: Name})), nil
}

// keepsCampaigns reports whether a server supports JetStream. If the server does not say, it returns true.
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
