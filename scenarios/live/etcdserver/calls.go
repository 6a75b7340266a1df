package etcdserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// services is a gRPC client for a member's services at one address.
type services struct {
	url  string
	http *http.Client
}

// overHTTP2 returns a client for gRPC: HTTP/2 without TLS.
func overHTTP2(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	t := &http.Transport{DialContext: dial, DisableCompression: true, Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: t}
}

// final lists the error codes of requests that were not carried out and never will be. Code 6 (already exists) and the
// codes that etcd does not use are not included.
var final = []etcd.Code{etcd.InvalidArgument, etcd.NotFound, etcd.FailedPrecondition, etcd.OutOfRange}

// undone reports whether the error means that the request was not carried out and never will be.
func undone(err error) bool {
	var r *etcd.Error
	return errors.As(err, &r) && slices.Contains(final, r.Code)
}

// headLength is the length in bytes of gRPC's message header: a compression flag and the message length.
const headLength = 5

// framed returns a message preceded by gRPC's header.
func framed(message string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// open begins a call that sends the messages in body, and returns its responses.
func (g *services) open(ctx context.Context, path string, body io.Reader) (*responses, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, body)
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	answer, err := g.http.Do(r)
	if err != nil {
		return nil, err
	}
	return &responses{answer}, nil
}

// responses reads the responses to a call.
type responses struct{ *http.Response }

// next returns the next response. After the last one it returns io.EOF or, if the call failed, etcd's error.
func (r *responses) next() (string, error) {
	var head [headLength]byte
	switch _, err := io.ReadFull(r.Body, head[:]); {
	case err == io.EOF:
		return "", r.ended()
	case err != nil:
		return "", err
	}
	message := make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, err := io.ReadFull(r.Body, message)
	return string(message), err
}

// ended returns the error that the call ended with. If there are no responses at all, the error is in the header.
func (r *responses) ended() error {
	field := func(name string) string { return cmp.Or(r.Trailer.Get(name), r.Header.Get(name)) }
	code, err := strconv.ParseUint(field("Grpc-Status"), 10, 8)
	switch {
	case err != nil:
		return fmt.Errorf("%s: the reply is HTTP status %s, not gRPC", r.Request.URL.Path, r.Status)
	case etcd.Code(code) == etcd.OK:
		return io.EOF
	}
	text, err := url.PathUnescape(field("Grpc-Message"))
	return cmp.Or(err, error(&etcd.Error{Code: etcd.Code(code), Text: text}))
}

// ask performs a call with one request, and returns its only response. An error reported by etcd is an *etcd.Error.
func (g *services) ask(ctx context.Context, c *etcd.Call) (message string, err error) {
	r, err := g.open(ctx, c.Path, bytes.NewReader(framed(c.Message)))
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	if message, err = r.next(); err != nil {
		return "", err
	}
	if _, err = r.next(); err == io.EOF {
		err = nil
	}
	return message, err
}

// read performs a call with one request and decodes the response.
func (g *services) read(ctx context.Context, c etcd.Call) (etcd.Response, error) {
	message, err := g.ask(ctx, &c)
	if err != nil {
		return etcd.Response{}, err
	}
	return c.ReadMessage(message)
}

// follow opens a watch and calls handle for each of its responses, until ctx is done.
func (g *services) follow(ctx context.Context, of etcd.Watch, handle func(*etcd.Response)) error {
	c, out := of.Call(), newOutbox()
	defer context.AfterFunc(ctx, out.close)()
	out.add(framed(c.Message))
	r, err := g.open(ctx, c.Path, out)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	for {
		message, err := r.next()
		if err == io.EOF {
			return errors.New("the member ended a watch")
		}
		if err != nil {
			return err
		}
		response, err := c.ReadMessage(message)
		switch {
		case err != nil:
			return err
		case response.Canceled:
			return errors.New("the member refused a watch")
		}
		handle(&response)
	}
}
