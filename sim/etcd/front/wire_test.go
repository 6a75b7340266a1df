package front

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// cable is a connection on which the test plays the part of the member.
type cable struct {
	now       sim.Time
	asked     []etcd.Call
	delivered []byte
	over      bool
	decoder   *hpack.Decoder
}

func (c *cable) Now() sim.Time    { return c.now }
func (c *cable) Deliver(b []byte) { c.delivered = append(c.delivered, b...) }
func (c *cable) HangUp()          { c.over = true }

func (c *cable) Ask(args []string, _ history.Attempt, _ string) {
	call, ok := etcd.CallOf(args)
	if !ok {
		panic(fmt.Sprint("no call: ", args))
	}
	c.asked = append(c.asked, call)
}

// frames returns the frames delivered since the last call.
func (c *cable) frames(t *testing.T) (all []string) {
	t.Helper()
	if c.decoder == nil {
		c.decoder = hpack.NewDecoder(4096, nil)
	}
	for len(c.delivered) > 0 {
		f, rest, ok, err := cutFrame(c.delivered)
		if !ok || err != nil {
			t.Fatalf("what was delivered ends with %q: %v", c.delivered, err)
		}
		text := fmt.Sprintf("%d/%d of %d", f.kind, f.flags, f.stream)
		if f.kind == frameHeaders {
			fields, err := c.decoder.DecodeFull(f.body)
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range fields {
				text += " " + field.Name + "=" + field.Value
			}
		} else if f.kind == frameData {
			text += fmt.Sprintf(" %q", f.body)
		}
		all = append(all, text)
		c.delivered = rest
	}
	return all
}

// opened returns a connection that the member has already accepted.
func opened(t *testing.T) (*cable, sim.Wire) {
	t.Helper()
	c, w := &cable{}, (Etcd{}).Begin().Caller("client-1").Wire("etcd-1")
	w.Written(c, append([]byte(preface), appendFrame(nil, frameSettings, 0, 0, nil)...))
	w.Arrived(c, etcd.Record{Kind: etcd.Settings}.Append(nil), nil)
	if all := c.frames(t); len(all) != 3 || all[0] != "4/0 of 0" || all[2] != "4/1 of 0" {
		t.Fatalf("a connection begins with %q", all)
	}
	c.asked, c.now = nil, 1
	return c, w
}

func headers(stream uint32, flags byte, fields ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return appendFrame(nil, frameHeaders, flags|flagEndHeaders, stream, b.Bytes())
}

// call encodes a call with one message as frames.
func call(stream uint32, path, message string) []byte {
	b := headers(stream, 0, ":method", "POST", ":path", path, "content-type", "application/grpc")
	return append(b, data(stream, flagEndStream, framed(message))...)
}

func framed(message string) string {
	return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))) + message
}

func data(stream uint32, flags byte, text string) []byte {
	return appendFrame(nil, frameData, flags, stream, []byte(text))
}

const putPath = "/etcdserverpb.KV/Put"

// TestACallIsTheSameInAnyPieces checks that a call has the same effect no matter how its bytes are split into pieces.
func TestACallIsTheSameInAnyPieces(t *testing.T) {
	whole := append(call(1, putPath, "one"), call(3, putPath, strings.Repeat("x", 3000))...)
	for piece := 1; piece < 200; piece++ {
		c, w := opened(t)
		for part := range slices.Chunk(whole, piece) {
			if err := w.Written(c, part); err != nil {
				t.Fatal(err)
			}
		}
		if len(c.asked) != 2 || c.asked[0].Message != "one" || len(c.asked[1].Message) != 3000 || c.over {
			t.Fatalf("pieces of %d bytes: %d calls", piece, len(c.asked))
		}
	}
}

// TestWhatIsWrittenAtOnceGoesByStream checks that calls that are written together are sent in stream order, no matter
// which of the client's goroutines wrote first. Pings must come last.
func TestWhatIsWrittenAtOnceGoesByStream(t *testing.T) {
	const keepAlive = "/etcdserverpb.Lease/LeaseKeepAlive"
	open := slices.Concat(headers(1, 0, ":path", keepAlive, "content-type", "application/grpc"),
		headers(3, 0, ":path", keepAlive, "content-type", "application/grpc"))
	first, second := data(1, 0, framed("first")), data(3, 0, framed("second"))
	ping := appendFrame(nil, framePing, 0, 0, make([]byte, 8))
	for _, order := range [][][]byte{{first, second, ping}, {ping, second, first}, {second, ping, first}} {
		c, w := opened(t)
		if err := w.Written(c, append(slices.Clone(open), slices.Concat(order...)...)); err != nil {
			t.Fatal(err)
		}
		if len(c.asked) != 3 || c.asked[0].Message != "first" || c.asked[1].Message != "second" ||
			c.asked[2].Path != etcd.Ping {
			t.Errorf("%q are asked as %+v", order, c.asked)
		}
	}
}

// TestStrangersAreTurnedAway sends bytes from other protocols, and frames that no gRPC client sends. The connection
// must then end, or stay open, as with gRPC's server and etcd, and HTTP/1 must get the same status. The run must not
// fail, even if a call follows these bytes.
func TestStrangersAreTurnedAway(t *testing.T) {
	hello := append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, make([]byte, 100)...)
	for name, test := range map[string]struct {
		bytes []byte
		first bool   // the bytes are the first on the connection
		says  string // text that the delivered bytes must contain
		stays bool
	}{
		"TLS, of which no line comes": {bytes: hello, first: true, stays: true},
		"TLS, and more than a line":   {bytes: bytes.Repeat(hello, 50), first: true},
		"HTTP/1": {bytes: []byte("GET /v3/kv/put HTTP/1.1\r\nHost: x\r\n\r\n"), first: true,
			says: "HTTP/1.1 404 Not Found\r\n"},
		"HTTP/1, not all of it":         {bytes: []byte("POST /v3/kv"), first: true, stays: true},
		"Redis":                         {bytes: []byte("*1\r\n$4\r\nPING\r\n"), first: true},
		"a preface that goes wrong":     {bytes: []byte("PRI * HTTP/2.0\r\n\r\nXX"), first: true},
		"a frame that is too large":     {bytes: []byte{0, 0x40, 1, 0, 0, 0, 0, 0, 1}},
		"a frame that is cut short":     {bytes: call(1, putPath, "m")[:20], stays: true},
		"data of stream 0":              {bytes: data(0, 0, "x")},
		"data of a stream never opened": {bytes: data(9, 0, "x")},
		"a stream of an even number":    {bytes: call(2, putPath, "m")},
		"headers that are none": {bytes: appendFrame(nil, frameHeaders, flagEndHeaders, 1,
			[]byte{0xff, 0xff, 0xff, 0xff})},
		"headers that never end": {bytes: append(appendFrame(nil, frameHeaders, 0, 1, nil),
			call(3, putPath, "m")...)},
		"more padding than frame":     {bytes: appendFrame(nil, frameData, flagPadded, 0, []byte{9})},
		"a push":                      {bytes: appendFrame(nil, 5, 0, 1, nil), stays: true},
		"settings of a broken length": {bytes: appendFrame(nil, frameSettings, 0, 0, []byte{1, 2})},
		"a window beyond all bounds":  {bytes: bytes.Repeat(appendWindow(nil, 0, mostWindow), 2)},
		"a window of nothing":         {bytes: appendWindow(nil, 0, 0)},
		"a ping of a broken length":   {bytes: appendFrame(nil, framePing, 0, 0, []byte{1})},
		"a frame of no kind":          {bytes: appendFrame(nil, 77, 0, 1, []byte("?")), stays: true},
		"no gRPC": {bytes: headers(1, flagEndStream, ":method", "GET", ":path", "/"), stays: true,
			says: string(appendFrame(nil, frameReset, 0, 1, []byte{0, 0, 0, errorProtocol}))},
	} {
		var c *cable
		var w sim.Wire
		if test.first {
			c = &cable{}
			w = (Etcd{}).Begin().Caller("client-1").Wire("etcd-1")
		} else {
			c, w = opened(t)
		}
		if err := w.Written(c, test.bytes); err != nil {
			t.Errorf("%s fails the run: %v", name, err)
		}
		if c.over == test.stays {
			t.Errorf("%s: the connection has ended: %v", name, c.over)
		}
		if !bytes.Contains(c.delivered, []byte(test.says)) {
			t.Errorf("%s is answered with %q", name, c.delivered)
		}
		if err := w.Written(c, call(101, putPath, "m")); err != nil {
			t.Errorf("%s, and a call after it: %v", name, err)
		}
	}
}

// TestMessagesThatCannotBeRead checks that a message that cannot be read gets the same error as from the gRPC server in
// etcd 3.4.
func TestMessagesThatCannotBeRead(t *testing.T) {
	begin := headers(1, 0, ":path", putPath, "content-type", "application/grpc", "grpc-encoding", "snappy")
	for text, want := range map[string]string{
		"\x00\x00\x20\x00\x01":      "8 grpc: received message larger than max (2097153 vs. 2097152)",
		"\x02\x00\x00\x00\x00":      "13 grpc: received unexpected payload format 2",
		"\x01\x00\x00\x00\x01x":     `12 grpc: Decompressor is not installed for grpc-encoding "snappy"`,
		"\x00\x00\x00\x00\x05three": "",
		"\x00\x00\x00\x00\x05th":    "2 unexpected EOF",
		"":                          "2 EOF",
	} {
		c, w := opened(t)
		w.Written(c, append(slices.Clone(begin), data(1, flagEndStream, text)...))
		if len(c.asked) != 1 {
			t.Fatalf("%q: %d calls", text, len(c.asked))
		}
		if a := c.asked[0]; want == "" && (a.What != etcd.Sends || a.Message != "three") ||
			want != "" && (a.What != etcd.Refuses || a.Message != want) {
			t.Errorf("%q is %+v", text, a)
		}
	}
}

// TestAStreamThatNeverReads checks that a stream does not get more bytes than its window allows, and gets the rest when
// the client enlarges the window. Other streams must not be delayed in the meantime.
func TestAStreamThatNeverReads(t *testing.T) {
	c, w := opened(t)
	small := binary.BigEndian.AppendUint32([]byte{0, settingInitialWindow}, 100)
	w.Written(c, appendFrame(nil, frameSettings, 0, 0, small))
	w.Written(c, append(call(1, putPath, "a"), call(3, putPath, "b")...))
	c.frames(t)
	got := func() (n int) {
		for _, f := range c.frames(t) {
			var kind, flags, stream int
			var text string
			fmt.Sscanf(f, "%d/%d of %d %q", &kind, &flags, &stream, &text)
			if kind == frameData && stream == 1 {
				n += len(text)
			}
		}
		return n
	}
	for range 10 {
		w.Arrived(c, etcd.Record{Kind: etcd.Message, Stream: 1, Body: strings.Repeat("x", 50)}.Append(nil), nil)
	}
	if n := got(); n != 100 {
		t.Errorf("%d bytes were sent, where the window is 100", n)
	}
	w.Arrived(c, etcd.Record{Kind: etcd.End, Stream: 3}.Append(nil), nil)
	if all := c.frames(t); len(all) != 1 || !strings.Contains(all[0], "of 3") {
		t.Errorf("the other stream got %q", all)
	}
	w.Written(c, appendWindow(nil, 1, 1000))
	if n := got(); n != 10*(50+messageHead)-100 {
		t.Errorf("%d bytes were sent when the window opened", n)
	}
}

// TestPings checks that a ping sent by the client right after data has arrived is answered together with the next data.
// Any other ping must be sent to the member.
func TestPings(t *testing.T) {
	c, w := opened(t)
	ping := appendFrame(nil, framePing, 0, 0, []byte("12345678"))
	w.Written(c, ping)
	if len(c.asked) != 1 || c.asked[0].Path != etcd.Ping || c.asked[0].Message != "12345678" || len(c.frames(t)) > 0 {
		t.Errorf("an idle client's ping: %+v", c.asked)
	}
	w.Arrived(c, etcd.Record{Kind: etcd.Pong, Body: "12345678"}.Append(nil), nil)
	w.Written(c, ping)
	if len(c.asked) != 1 || len(c.frames(t)) != 1 {
		t.Error("a ping that follows an arrival is a message")
	}
	w.Arrived(c, nil, nil)
	if all := c.frames(t); len(all) != 1 || all[0] != "6/1 of 0" {
		t.Errorf("it is answered with %q", all)
	}
}

// FuzzWire writes arbitrary bytes, with or without a preface. No input may make the run fail.
func FuzzWire(f *testing.F) {
	f.Add(call(1, putPath, "m"), true)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), false)
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		b := append(call(1, "/etcdserverpb.Watch/Watch", "m"), call(3, putPath, "m")...)
		for range 1 + random.IntN(4) {
			b[random.IntN(len(b))] = byte(random.IntN(256))
		}
		f.Add(b, random.IntN(4) > 0)
	}
	f.Fuzz(func(t *testing.T, b []byte, accepted bool) {
		c, w := &cable{}, (Etcd{}).Begin().Caller("client-1").Wire("etcd-1")
		if accepted {
			c, w = opened(t)
		}
		for part := range slices.Chunk(b, 1+len(b)/3) {
			if err := w.Written(c, part); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range c.asked {
			w.Arrived(c, etcd.Record{Kind: etcd.Message, Stream: a.Stream, Body: "m"}.Append(nil), nil)
			end := etcd.Record{Kind: etcd.End, Stream: a.Stream, Code: etcd.NotFound, Body: "ü%"}
			w.Arrived(c, end.Append(nil), nil)
		}
		w.Arrived(c, b, nil)
	})
}
