//go:build linux

package ensembles

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// speak sends bytes to a server. It returns everything that the server sends within 500 ms, and whether the server
// closed the connection in that time.
func speak(t *testing.T, address string, b []byte) (said []byte, ended bool) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	said, err = io.ReadAll(c)
	wait, isNet := err.(net.Error)
	return said, !isNet || !wait.Timeout()
}

// TestStrangersAreAnsweredAsByEtcd sends bytes that no gRPC client sends: other protocols, and unexpected frames. The
// simulated member must close the connection in the same cases as etcd, answer HTTP/1 with the same status, and still
// serve calls afterward.
func TestStrangersAreAnsweredAsByEtcd(t *testing.T) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	settings := preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	real, simulated := realEtcd(t), simulatedEtcd(t)
	for name, text := range map[string]string{
		"HTTP/1":                      "GET /no/such/path HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"TLS":                         "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 505),
		"Redis":                       "*1\r\n$4\r\nPING\r\n",
		"a preface that goes wrong":   preface[:20] + "????",
		"a frame that is too large":   settings + "\xff\xff\xff\x00\x00\x00\x00\x00\x01",
		"a push":                      settings + "\x00\x00\x04\x05\x04\x00\x00\x00\x01\x00\x00\x00\x02",
		"settings of a broken length": settings + "\x00\x00\x01\x04\x00\x00\x00\x00\x00\x00",
		"a frame that is cut short":   settings + "\x00\x00\x20\x01\x04",
		"nothing":                     "",
	} {
		want, over := speak(t, real, []byte(text))
		got, ended := speak(t, simulated, []byte(text))
		line := func(b []byte) []byte { first, _, _ := bytes.Cut(b, []byte("\n")); return first }
		http := bytes.HasPrefix(want, []byte("HTTP/1"))
		if over != ended || http && !bytes.Equal(line(got), line(want)) {
			t.Errorf("%s: the simulated member ends the connection: %v, etcd: %v; they say %q and %q", name, ended,
				over, got, want)
		}
	}
	for name, address := range map[string]string{"etcd": real, "the simulated member": simulated} {
		if _, err := dial(t, address).Get(t.Context(), "a"); err != nil {
			t.Errorf("%s, after the strangers: %v", name, err)
		}
	}
}

// TestCallsThatCannotBeServed checks that messages that are too large, compressed or malformed get the same replies as
// from etcd. If the simulated member does not support a method, its reply must name that method.
func TestCallsThatCannotBeServed(t *testing.T) {
	real, simulated := connect(t, realEtcd(t)), connect(t, simulatedEtcd(t))
	const put = "/etcdserverpb.KV/Put"
	large := func(n int) []byte {
		b := append([]byte("\x0a\x01a\x12"), 0, 0, 0)
		b[4], b[5], b[6] = byte(n)|0x80, byte(n>>7)|0x80, byte(n>>14)
		return append(b, make([]byte, n)...)
	}
	for name, test := range map[string]struct {
		method  string
		request []byte
		options []grpc.CallOption
	}{
		"no message of its kind":       {put, []byte("\x08\x01"), nil},
		"no message at all":            {put, []byte("\xff\xff"), nil},
		"the largest request but one":  {put, large(1536<<10 - 30), nil},
		"a request that is too large":  {put, large(1536<<10 + 10), nil},
		"a message that is too large":  {put, large(2<<20 - 100), nil},
		"one beyond what gRPC takes":   {put, large(2<<20 + 1), nil},
		"a compressed one":             {put, []byte("\x0a\x01a"), []grpc.CallOption{grpc.UseCompressor(gzip.Name)}},
		"a service that there is not":  {"/x.Y/Z", nil, nil},
		"a method that there is not":   {"/etcdserverpb.KV/Puts", nil, nil},
		"a method without its service": {"/Put", nil, nil},
	} {
		var said [2]string
		for i, c := range []*grpc.ClientConn{real, simulated} {
			var response []byte
			err := c.Invoke(t.Context(), test.method, &test.request, &response,
				append(test.options, grpc.ForceCodec(asBytes{}))...)
			said[i] = fmt.Sprint(status.Code(err))
			if text := status.Convert(err).Message(); !strings.Contains(text, "unmarshal") {
				said[i] += " " + text
			}
		}
		if said[0] != said[1] {
			t.Errorf("%s\nsimulated  %s\netcd       %s", name, said[1], said[0])
		}
	}
	_, err := etcdserverpb.NewAuthClient(simulated).Authenticate(t.Context(), &etcdserverpb.AuthenticateRequest{})
	if got := fmt.Sprint(err); !strings.Contains(got, "fencepost: etcdserverpb.Auth/Authenticate is not simulated") {
		t.Error(got)
	}
}

// TestAWatchThatNobodyReads checks that a watch that nobody reads does not block other calls.
func TestAWatchThatNobodyReads(t *testing.T) {
	c := dial(t, simulatedEtcd(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	idle, err := etcdserverpb.NewWatchClient(c.ActiveConnection()).Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := idle.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{
		CreateRequest: &etcdserverpb.WatchCreateRequest{Key: []byte("a")}}}); err != nil {
		t.Fatal(err)
	}
	value := strings.Repeat("x", 100_000)
	for range 30 {
		if _, err := c.Put(t.Context(), "a", value); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := c.Get(t.Context(), "a"); err != nil || r.Kvs[0].Version != 30 {
		t.Errorf("%v %v", r, err)
	}
}
