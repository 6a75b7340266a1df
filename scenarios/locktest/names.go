package locktest

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver returns a Resolver that gets the addresses of host names from h. It must be called outside a synctest
// bubble.
func resolver(h *host) *net.Resolver {
	// This lookup fails. It is made outside any synctest bubble because the first lookup in a process creates a channel
	// that later lookups share. If a bubble created the channel, no other bubble could use it.
	none := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no name server") }
	first := net.Resolver{PreferGo: true, Dial: none}
	first.LookupHost(context.Background(), "redis-1")
	return &net.Resolver{PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) { return &nameServer{host: h}, nil }}
}

// nameServer is a connection to a name server for the current run's servers. It is needed because Redis Cluster reports
// its members' host names, and some clients look them up. A query is answered immediately. A query for an unknown name
// makes the run fail.
type nameServer struct {
	host   *host
	answer []byte // the rest of the answer, behind its length
}

var errUnknownName = errors.New("the code under test looked up a host name: " +
	"pass it the addresses in locktest.Client.Addrs")

// Write receives a query. The query's length precedes it, as in DNS over TCP.
func (n *nameServer) Write(b []byte) (int, error) {
	var query dnsmessage.Message
	if err := query.Unpack(b[min(len(b), 2):]); err != nil {
		return 0, err
	}
	asked := query.Questions[0]
	name, _, _ := strings.Cut(asked.Name.String(), ".") // the host may append its domain to the name
	address := n.host.Host(name)
	if address == nil {
		n.host.Fail(errUnknownName)
		return 0, errUnknownName
	}
	answer := dnsmessage.Message{Questions: query.Questions}
	answer.Header = dnsmessage.Header{ID: query.ID, Response: true, RecursionAvailable: true}
	if asked.Type == dnsmessage.TypeA {
		answer.Answers = []dnsmessage.Resource{{Body: &dnsmessage.AResource{A: [4]byte(address)},
			Header: dnsmessage.ResourceHeader{Name: asked.Name, Class: dnsmessage.ClassINET}}}
	}
	packed, err := answer.Pack()
	n.answer = append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...)
	return len(b), err
}

func (n *nameServer) Read(b []byte) (int, error) {
	if len(n.answer) == 0 {
		return 0, io.EOF
	}
	read := copy(b, n.answer)
	n.answer = n.answer[read:]
	return read, nil
}

func (*nameServer) Close() error                     { return nil }
func (*nameServer) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*nameServer) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*nameServer) SetDeadline(time.Time) error      { return nil }
func (*nameServer) SetReadDeadline(time.Time) error  { return nil }
func (*nameServer) SetWriteDeadline(time.Time) error { return nil }
