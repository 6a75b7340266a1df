// Package access says how a process gets to the NATS server of a campaign, and how it knows that it is that server.
//
// Goals: nothing is sent to a server, and nothing is believed of it, before it has shown the certificate that its
// campaign's folder holds; no password or token is in what is printed. Non-goals: accounts and transport of NATS
// servers of the user's own, which are as the user runs them.
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

// Server is how to get to a server. The files and the URL are NATS's, as is what they mean.
type Server struct {
	URL   string `json:"url,omitempty"`   // may hold a user with a password, or a token; several with commas between
	Token string `json:"token,omitempty"` // in place of one in the URL
	// Certificate is the only one that the server may show, in PEM; empty: any that the authorities vouch for.
	Certificate string `json:"certificate,omitempty"`
	Listen      string `json:"listen,omitempty"` // where an embedded server was asked to listen, host:port
	// Binaries are the SHA-256 sums of the test binaries that may be executed here, in hex.
	Binaries []string `json:"binaries,omitempty"`

	Creds string `json:"creds,omitempty"` // a file; empty: none, as those below
	CA    string `json:"ca,omitempty"`    // files for TLS
	Cert  string `json:"cert,omitempty"`
	Key   string `json:"key,omitempty"`
}

// ErrRefused reports that a server lets nobody in with the credentials.
var ErrRefused = errors.New("refuses these credentials")

// ErrOther reports that what listens at the address is not the server of the campaign.
var ErrOther = errors.New("is not the server of this campaign")

// Name is the host that the certificate of an embedded server is for, wherever it listens.
const Name = "fencepost-campaign"

const (
	connectWithin = 5 * time.Second        // how long a server may take to let a client in
	tryAgain      = 250 * time.Millisecond // between two attempts to come back to it
)

// schemes lists the schemes that the URL of a NATS server may have.
var schemes = []string{"nats", "tls", "ws", "wss"}

// Check says what is wrong with the URL, without any part of it: there may be a password in it.
func (a Server) Check() error {
	_, err := a.urls()
	return err
}

// urls are the parts of the URL.
func (a Server) urls() (all []*url.URL, err error) {
	for one := range strings.SplitSeq(a.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" || u.RawQuery != "" ||
			u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
			return nil, errors.New("the URL of the NATS server cannot be read: write it as nats://HOST:4222, several " +
				"with commas between them, and escape what a user or password has besides letters and digits, " +
				"such as %40 for @")
		}
		all = append(all, u)
	}
	return all, nil
}

// Secret reports whether there is a user, a password or a token in the URL.
func (a Server) Secret() bool {
	all, err := a.urls()
	return err != nil && strings.Contains(a.URL, "@") ||
		slices.ContainsFunc(all, func(u *url.URL) bool { return u.User != nil })
}

// Shown is the URL without its secrets.
func (a Server) Shown() string {
	all, err := a.urls()
	if err != nil {
		return "a URL that cannot be read"
	}
	var shown []string
	for _, u := range all {
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return strings.Join(shown, ",")
}

// Connect connects to a server that is there, and from then on comes back to it for as long as it takes. Notice, if not
// nil, is called when the server has gone and when it is back, by another goroutine.
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
				notice(fmt.Sprintf("the NATS server at %s has gone, and what is under way waits for it", at))
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
		return nil, fmt.Errorf("the NATS server at %s has no JetStream, in which campaigns are kept", at)
	case err == nil:
		return nc, nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired),
		errors.Is(err, nats.ErrAuthRevoked):
		return nil, fmt.Errorf("the NATS server at %s %w: %w", at, ErrRefused, err)
	case a.Certificate != "" && (errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(tls.RecordHeaderError))):
		return nil, fmt.Errorf("what listens at %s %w, and was told nothing: %w", at, ErrOther, err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return nil, fmt.Errorf("no NATS server answers at %s: %w", at, err)
	}
	return nil, fmt.Errorf("cannot use the NATS server at %s: %w", at, err)
}

// secrets are the options by which client and server know each other.
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
		return nil, errors.New("the certificate of the campaign's server cannot be read")
	}
	return append(options, nats.TLSHandshakeFirst(), nats.DontRandomize(), nats.IgnoreDiscoveredServers(),
		nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pinned, ServerName: Name})), nil
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
