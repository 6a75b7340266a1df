package realtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
)

// If a client is a world in another process of this program, the Front (the server end of the client's connection)
// sends it each reply in a frame. A frame consists of one byte for its kind, four bytes for the content length, and the
// content.
const (
	FrameReply   byte = '=' // the reply to a request; replies come in order
	FramePush    byte = '>'
	FrameRefused byte = '!' // nobody listens at the server; the connection ends
)

// AppendFrame appends a frame to b.
func AppendFrame(b []byte, kind byte, what []byte) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(what)))
	return append(b, what...)
}

// appendRequest appends a request to b, in the encoding that Redis clients use.
func appendRequest(b []byte, args []string) []byte {
	b = append(strconv.AppendInt(append(b, '*'), int64(len(args)), 10), '\r', '\n')
	for _, a := range args {
		b = sim.AppendBulk(b, a)
	}
	return b
}

// Framed is a connection with framed replies from one world to another world's [Front]. If its own loop is late, the
// loop first handles all frames that have arrived. So when a client continues after a pause, it receives everything
// that arrived in the meantime before its timers fire.
type Framed struct {
	loop  *Loop
	in    *In
	out   *Out
	half  []byte // the beginning of an incomplete frame
	took  func(kind byte, what []byte)
	ended func()
	over  bool
}

// Door is what a client needs to connect to a server through a [Front]: an address and the client's password.
type Door struct{ Address, Secret string }

// DialFramed opens a connection. When it returns, the [Front] has accepted the connection. From then on, the loop
// passes each frame to the function took. When the connection ends, it calls the function ended.
func DialFramed(l *Loop, to Door, took func(kind byte, what []byte), ended func()) (*Framed, error) {
	tcp, err := net.Dial("tcp", to.Address)
	if err != nil {
		return nil, err
	}
	ok := make([]byte, len("+OK\r\n"))
	if _, err = tcp.Write(appendRequest(nil, []string{"AUTH", to.Secret})); err == nil {
		_, err = io.ReadFull(tcp, ok)
	}
	if err == nil && string(ok) != "+OK\r\n" {
		err = errors.New("the server refused the password")
	}
	if err != nil {
		tcp.Close()
		return nil, fmt.Errorf("%s: %w", to.Address, err)
	}
	f := &Framed{loop: l, out: NewOut(tcp.(*net.TCPConn)), took: took, ended: ended}
	f.in = NewIn(tcp.(*net.TCPConn), func() { l.Do(f.collect) })
	l.framed = append(l.framed, f)
	go f.in.Run()
	go f.out.Run()
	return f, nil
}

// Say sends a request.
func (f *Framed) Say(args []string) { f.out.Add(appendRequest(nil, args)) }

func (f *Framed) end() {
	f.over = true
	f.loop.framed = slices.DeleteFunc(f.loop.framed, func(o *Framed) bool { return o == f })
	f.out.Finish()
	f.in.Stop()
}

func (f *Framed) collect() {
	b, ended := f.in.Collected()
	if len(f.half) > 0 {
		b = append(f.half, b...)
	}
	for len(b) >= frameHead && !f.over {
		size := frameHead + int(binary.BigEndian.Uint32(b[1:]))
		if len(b) < size {
			break
		}
		f.took(b[0], b[frameHead:size])
		b = b[size:]
	}
	f.half = b
	if ended && !f.over {
		f.ended()
	}
}

// frameHead is the number of bytes that precede a frame's content: its kind and length.
const frameHead = 5
