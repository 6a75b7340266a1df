package front

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// wire implements one gRPC connection.
type wire struct {
	caller  *caller
	half    []byte // an incomplete frame
	begun   bool   // the preface has been read
	settled bool   // the member has accepted the connection, so the client has been sent the first frame (the settings)
	over    bool
	streams []*stream
	latest  uint32 // number of the newest stream

	// The fields below are used for data coming from the client.
	decoder *hpack.Decoder
	fields  []hpack.HeaderField
	block   []byte // the incomplete header block; CONTINUATION frames add to it
	opening *frame // the HEADERS frame whose block is incomplete, or nil
	taken   int    // bytes of messages received since the connection's window was last enlarged
	asked   []request
	// unsimulated is the name of a method that the client has called since the last report. Real members have this
	// method, but simulated members do not.
	unsimulated string

	// The fields below are used for data going to the client.
	encoder *hpack.Encoder
	encoded bytes.Buffer
	window  int // number of bytes that the client still accepts on the connection
	initial int // number of bytes that the client accepts on a new stream
	out     []byte
	pings   [][]byte // pings to be answered together with the next arrival
	arrival sim.Time // time of the last arrival
}

// stream is a gRPC call, which has its own HTTP/2 stream.
type stream struct {
	id         uint32
	path       string
	encoding   string // compression of the client's messages
	needLeader bool
	half       []byte // an incomplete message
	asked      bool   // the member has been sent a message, or the reason why it cannot be read
	finished   bool   // the client will send no more messages
	headed     bool   // the response's headers have been sent
	window     int
	data       []byte       // data that is waiting to be sent to the client
	end        *etcd.Record // the end of the call, sent after data
}

// request is a call that is ready to be sent to the member.
type request struct {
	call  etcd.Call
	of    history.Attempt
	phase string
}

func newWire(c *caller) *wire {
	w := &wire{caller: c, window: initialWindow, initial: initialWindow, arrival: -1}
	w.decoder = hpack.NewDecoder(4096, func(f hpack.HeaderField) { w.fields = append(w.fields, f) })
	w.encoder = hpack.NewEncoder(&w.encoded)
	return w
}

// Written handles bytes from the client. If they belong to another protocol, it closes the connection, as etcd does.
func (w *wire) Written(l sim.Line, b []byte) error {
	if w.over {
		return nil
	}
	w.half = append(w.half, b...)
	if !w.begun && !w.begin(l) {
		return nil
	}
	for !w.over {
		f, rest, ok, err := cutFrame(w.half)
		if err == nil && !ok {
			break
		}
		if err == nil {
			err = w.take(l, &f)
		}
		if err != nil {
			w.hangUp(l)
			return nil
		}
		w.half = rest
	}
	w.half = slices.Clone(w.half)
	w.pass(l)
	w.flush(l)
	if name := w.unsimulated; name != "" {
		w.unsimulated = ""
		return &sim.NotSimulatedError{Request: name, Answered: true}
	}
	return nil
}

func (w *wire) hangUp(l sim.Line) {
	w.pass(l)
	w.flush(l)
	w.over = true
	l.HangUp()
}

// begin reads the preface. It reports whether the preface is complete.
func (w *wire) begin(l sim.Line) bool {
	n := min(len(w.half), len(preface))
	if string(w.half[:n]) != preface[:n] {
		w.stranger(l)
		return false
	}
	if n < len(preface) {
		return false
	}
	w.begun, w.half = true, w.half[n:]
	l.Ask(etcd.Call{Path: etcd.Preface}.Args(), w.caller.attempt, "preface")
	return true
}

// pass sends the member all requests that the client has written at the same time. It sorts them by stream, because the
// client's goroutines write them in a random order. Pings (stream 0) come last.
func (w *wire) pass(l sim.Line) {
	slices.SortStableFunc(w.asked, func(a, b request) int { return cmp.Compare(a.call.Stream-1, b.call.Stream-1) })
	for _, r := range w.asked {
		l.Ask(r.call.Args(), r.of, r.phase)
	}
	w.asked = w.asked[:0]
}

// notFound is the reply to an HTTP/1 request. etcd would pass it to its gateway, which is not simulated.
const notFound = "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n" +
	"X-Content-Type-Options: nosniff\r\nContent-Length: 19\r\nConnection: close\r\n\r\n404 page not found\n"

// mostLine is the maximum length in bytes of the first line of an HTTP/1 request, and mostHTTP1 is the maximum length
// of its head.
const mostLine, mostHTTP1 = 4096, 1 << 20

// stranger answers a client that does not use HTTP/2. It waits for a complete line, because an incomplete one does not
// show whether the client uses HTTP/1.
func (w *wire) stranger(l sim.Line) {
	line, _, whole := bytes.Cut(w.half, []byte("\n"))
	http1 := len(bytes.Fields(line)) == 3 && bytes.Contains(line, []byte(" HTTP/1."))
	switch {
	case !whole && len(w.half) < mostLine:
		return // the line is not complete yet
	case !http1:
	case bytes.Contains(w.half, []byte("\r\n\r\n")):
		w.out = append(w.out, notFound...)
	case len(w.half) < mostHTTP1:
		return
	}
	w.hangUp(l)
}

// take handles one frame from the client.
func (w *wire) take(l sim.Line, f *frame) error {
	if w.opening != nil && (f.kind != frameContinuation || f.stream != w.opening.stream) {
		return errProtocol
	}
	switch f.kind {
	case frameData:
		return w.takeData(f)
	case frameHeaders, frameContinuation:
		return w.takeHeaders(f)
	case frameReset:
		return w.takeReset(f)
	case frameSettings:
		return w.takeSettings(f)
	case framePing:
		return w.takePing(l, f)
	case frameWindow:
		return w.takeWindow(f)
	}
	return nil // PRIORITY, GOAWAY, and frames that clients never send
}

func (w *wire) takeSettings(f *frame) error {
	if f.stream != 0 || len(f.body)%6 != 0 {
		return errProtocol
	}
	if f.flags&flagAck != 0 {
		return nil
	}
	for b := f.body; len(b) > 0; b = b[6:] {
		value := binary.BigEndian.Uint32(b[2:])
		switch binary.BigEndian.Uint16(b) {
		case settingTableSize:
			w.encoder.SetMaxDynamicTableSizeLimit(value)
		case settingInitialWindow:
			if value > mostWindow {
				return errProtocol
			}
			for _, s := range w.streams {
				s.window += int(value) - w.initial
			}
			w.initial = int(value)
		}
	}
	w.out = appendFrame(w.out, frameSettings, flagAck, 0, nil)
	return nil
}

// takePing handles a ping. If data has just arrived at the client, the client is measuring the bandwidth, and the ping
// is answered together with the next data. Otherwise, the client is checking whether the member is alive, and the ping
// is passed on to the member.
func (w *wire) takePing(l sim.Line, f *frame) error {
	switch {
	case f.stream != 0 || len(f.body) != 8:
		return errProtocol
	case f.flags&flagAck != 0:
	case w.arrival == l.Now():
		w.pings = append(w.pings, slices.Clone(f.body))
	default:
		ping := etcd.Call{Path: etcd.Ping, Message: string(f.body)}
		w.asked = append(w.asked, request{ping, w.caller.attempt, "ping"})
	}
	return nil
}

func (w *wire) takeWindow(f *frame) error {
	if len(f.body) != 4 {
		return errProtocol
	}
	by := int(binary.BigEndian.Uint32(f.body) & mostWindow)
	to := &w.window
	if f.stream != 0 {
		s := w.find(f.stream)
		if s == nil {
			return nil
		}
		to = &s.window
	}
	if *to += by; by == 0 || *to > mostWindow {
		return errProtocol
	}
	return nil
}

func (w *wire) find(id uint32) *stream {
	if i := slices.IndexFunc(w.streams, func(s *stream) bool { return s.id == id }); i >= 0 {
		return w.streams[i]
	}
	return nil
}

func (w *wire) forget(s *stream) {
	w.streams = slices.DeleteFunc(w.streams, func(o *stream) bool { return o == s })
}

func (w *wire) takeReset(f *frame) error {
	if f.stream == 0 || len(f.body) != 4 {
		return errProtocol
	}
	if s := w.find(f.stream); s != nil {
		w.forget(s)
		if s.asked {
			w.ask(s, "", etcd.Resets)
		}
	}
	return nil
}

// mostHeaders is the maximum size in bytes of a call's headers.
const mostHeaders = 1 << 20

func (w *wire) takeHeaders(f *frame) error {
	switch {
	case f.kind == frameContinuation && w.opening == nil, f.stream == 0, len(w.block)+len(f.body) > mostHeaders:
		return errProtocol
	case f.kind == frameContinuation:
		w.block = append(w.block, f.body...)
	default:
		b, err := f.content()
		if err != nil {
			return err
		}
		w.block = append(w.block[:0], b...)
		w.opening = &frame{stream: f.stream, flags: f.flags}
	}
	if f.flags&flagEndHeaders == 0 {
		return nil
	}
	opening := w.opening
	w.opening, w.fields = nil, w.fields[:0]
	if _, err := w.decoder.Write(w.block); err != nil {
		return errProtocol
	}
	if w.decoder.Close() != nil {
		return errProtocol
	}
	ends := opening.flags&flagEndStream != 0
	if s := w.find(opening.stream); s != nil { // these are trailers
		if ends {
			w.finish(s)
		}
		return nil
	}
	if opening.stream%2 == 0 || opening.stream <= w.latest {
		return errProtocol
	}
	w.latest = opening.stream
	w.open(opening.stream, ends)
	return nil
}

// open starts a call once its headers have been read.
func (w *wire) open(id uint32, ends bool) {
	s := &stream{id: id, path: "/", window: w.initial}
	kind := ""
	for _, f := range w.fields {
		switch f.Name {
		case ":path":
			s.path = "/" + strings.TrimPrefix(f.Value, "/")
		case "content-type":
			kind = f.Value
		case "grpc-encoding":
			s.encoding = f.Value
		case "hasleader":
			s.needLeader = f.Value == "true"
		}
	}
	if kind != "application/grpc" && !strings.HasPrefix(kind, "application/grpc+") &&
		!strings.HasPrefix(kind, "application/grpc;") {
		w.reset(s, errorProtocol)
		return
	}
	w.streams = append(w.streams, s)
	if ends {
		w.finish(s)
	}
}

// errorProtocol is the HTTP/2 error code PROTOCOL_ERROR.
const errorProtocol = 1

func (w *wire) reset(s *stream, code uint32) {
	w.out = appendFrame(w.out, frameReset, 0, s.id, binary.BigEndian.AppendUint32(nil, code))
}

// mostMessage is the maximum size in bytes of a message that etcd accepts: the maximum request size plus gRPC's
// overhead.
const mostMessage = 2 << 20

// reopen is how many bytes are received before the connection's window is extended by the same number of bytes.
const reopen = 1 << 14

func (w *wire) takeData(f *frame) error {
	if f.stream == 0 || f.stream > w.latest {
		return errProtocol
	}
	b, err := f.content()
	if err != nil {
		return err
	}
	if w.taken += len(f.body); w.taken >= reopen {
		w.out = appendWindow(w.out, 0, uint32(w.taken))
		w.taken = 0
	}
	s := w.find(f.stream)
	if s == nil || s.finished {
		return nil
	}
	if len(f.body) > 0 {
		w.out = appendWindow(w.out, s.id, uint32(len(f.body)))
	}
	s.half = append(s.half, b...)
	w.takeMessages(s)
	if f.flags&flagEndStream != 0 {
		w.finish(s)
	}
	return nil
}

// messageHead is the size in bytes of a message's prefix: a compression flag and the message's length.
const messageHead = 5

// takeMessages sends a call's complete messages to the member.
func (w *wire) takeMessages(s *stream) {
	for len(s.half) >= messageHead && (!s.asked || etcd.Streaming(s.path)) {
		size := int(binary.BigEndian.Uint32(s.half[1:]))
		switch {
		case s.half[0] > 1:
			w.refuse(s, etcd.Internal, fmt.Sprintf("grpc: received unexpected payload format %d", s.half[0]))
			return
		case size > mostMessage:
			w.refuse(s, etcd.ResourceExhausted,
				fmt.Sprintf("grpc: received message larger than max (%d vs. %d)", size, mostMessage))
			return
		case len(s.half) < messageHead+size:
			return
		case s.half[0] == 1 && (s.encoding == "" || s.encoding == "identity"):
			w.refuse(s, etcd.Internal, "grpc: compressed flag set with identity or empty encoding")
			return
		case s.half[0] == 1:
			w.refuse(s, etcd.Unimplemented,
				fmt.Sprintf("grpc: Decompressor is not installed for grpc-encoding %q", s.encoding))
			return
		}
		message := string(s.half[messageHead : messageHead+size])
		s.half = s.half[messageHead+size:]
		w.ask(s, message, etcd.Sends)
	}
	if s.asked && !etcd.Streaming(s.path) {
		s.half = nil // a unary call has only one message
	}
}

// refuse makes the member answer with an error, because the client's message cannot be read.
func (w *wire) refuse(s *stream, code etcd.Code, text string) {
	s.half, s.finished = nil, true
	w.ask(s, strconv.Itoa(int(code))+" "+text, etcd.Refuses)
}

// finish records that the client is done sending messages on a stream.
func (w *wire) finish(s *stream) {
	switch {
	case s.finished:
	case len(s.half) > 0:
		w.refuse(s, etcd.UnknownCode, "unexpected EOF")
	case !s.asked && !etcd.Streaming(s.path):
		w.refuse(s, etcd.UnknownCode, "EOF")
	case etcd.Streaming(s.path):
		w.ask(s, "", etcd.Finishes)
	}
	s.finished = true
}

// ask queues a request to the member. The request contains one of a call's messages, or reports another event in the
// call, such as its cancellation.
func (w *wire) ask(s *stream, message string, what etcd.What) {
	if !s.asked && etcd.NotSimulated(s.path) {
		w.unsimulated = strings.TrimPrefix(s.path, "/")
	}
	s.asked = true
	c := etcd.Call{Path: s.path, Stream: uint64(s.id), Message: message, What: what, NeedLeader: s.needLeader}
	w.asked = append(w.asked, request{c, w.caller.behalf(&c), s.path[strings.LastIndexByte(s.path, '/')+1:]})
}
