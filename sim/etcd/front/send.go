package front

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// Arrived handles records that the member has sent.
func (w *wire) Arrived(l sim.Line, b []byte, to *sim.Incoming) {
	w.arrival = l.Now()
	for _, p := range w.pings {
		w.out = appendFrame(w.out, framePing, flagAck, 0, p)
	}
	w.pings = w.pings[:0]
	for {
		r, rest, ok := etcd.CutRecord(b)
		if !ok {
			break
		}
		w.arrived(&r, to)
		b = rest
	}
	w.flush(l)
}

// ample is how many bytes are initially added to the client's send windows.
const ample = 1 << 20

func (w *wire) arrived(r *etcd.Record, to *sim.Incoming) {
	switch r.Kind {
	case etcd.Settings:
		setting := binary.BigEndian.AppendUint16(nil, settingInitialWindow)
		first := appendFrame(nil, frameSettings, 0, 0, binary.BigEndian.AppendUint32(setting, ample))
		w.out = append(appendWindow(first, 0, ample), w.out...)
		w.settled = true
		return
	case etcd.Pong:
		w.out = appendFrame(w.out, framePing, flagAck, 0, []byte(r.Body))
		return
	}
	if to != nil && r.Kind == etcd.Message {
		if c, ok := etcd.CallOf(to.Args); ok {
			w.caller.learn(to.Attempt, &c, r.Body)
		}
	}
	s := w.find(uint32(r.Stream))
	switch {
	case s == nil || s.end != nil:
	case r.Kind == etcd.Message:
		head := append(make([]byte, 0, messageHead+len(r.Body)), 0)
		s.data = append(append(s.data, binary.BigEndian.AppendUint32(head, uint32(len(r.Body)))...), r.Body...)
	case r.Kind == etcd.End:
		s.end = r
	}
}

// flush sends as much pending data to the client as the client's flow-control windows allow.
func (w *wire) flush(l sim.Line) {
	for _, s := range slices.Clone(w.streams) {
		w.send(s)
	}
	if len(w.out) > 0 && (w.settled || !w.begun) {
		l.Deliver(w.out)
		w.out = w.out[:0]
	}
}

func (w *wire) send(s *stream) {
	if len(s.data) > 0 && !s.headed {
		s.headed = true
		w.head(s, 0, hpack.HeaderField{Name: ":status", Value: "200"},
			hpack.HeaderField{Name: "content-type", Value: "application/grpc"})
	}
	for len(s.data) > 0 {
		n := min(len(s.data), s.window, w.window, mostFrame)
		if n <= 0 {
			return
		}
		w.out = appendFrame(w.out, frameData, 0, s.id, s.data[:n])
		s.data, s.window, w.window = s.data[n:], s.window-n, w.window-n
	}
	s.data = nil
	if s.end == nil {
		return
	}
	fields := []hpack.HeaderField{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"},
		{Name: "grpc-status", Value: strconv.Itoa(int(s.end.Code))}, {Name: "grpc-message", Value: encoded(s.end.Body)}}
	if s.headed {
		fields = fields[2:]
	}
	w.head(s, flagEndStream, fields...)
	if !s.finished {
		w.reset(s, 0)
	}
	w.forget(s)
}

// head sends a frame with headers.
func (w *wire) head(s *stream, flags byte, fields ...hpack.HeaderField) {
	w.encoded.Reset()
	for _, f := range fields {
		_ = w.encoder.WriteField(f) // cannot fail: it writes to a buffer
	}
	b := w.encoded.Bytes()
	kind := byte(frameHeaders)
	for len(b) > mostFrame {
		w.out = appendFrame(w.out, kind, flags, s.id, b[:mostFrame])
		b, kind, flags = b[mostFrame:], frameContinuation, 0
	}
	w.out = appendFrame(w.out, kind, flags|flagEndHeaders, s.id, b)
}

// encoded encodes a message as the value of the grpc-message header.
func encoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
