package front

import (
	"encoding/binary"
	"errors"
)

// preface is the first part of every HTTP/2 connection (RFC 9113, 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// HTTP/2 frame types (RFC 9113, 6).
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameWindow       = 8
	frameContinuation = 9
)

// HTTP/2 frame flags.
const (
	flagEndStream  = 0x1 // for DATA and HEADERS
	flagAck        = 0x1 // for SETTINGS and PING
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// HTTP/2 setting identifiers.
const (
	settingTableSize     = 1
	settingInitialWindow = 4
)

const (
	frameHead     = 9       // size of a frame's header in bytes
	mostFrame     = 1 << 14 // maximum size of a frame in bytes, in both directions: the standard's default
	initialWindow = 1<<16 - 1
	mostWindow    = 1<<31 - 1
)

// errProtocol is the error for bytes that make gRPC's server close the connection.
var errProtocol = errors.New("no HTTP/2")

type frame struct {
	kind, flags byte
	stream      uint32
	body        []byte
}

// cutFrame removes the first frame from b. ok is false if the frame is not complete yet.
func cutFrame(b []byte) (f frame, rest []byte, ok bool, err error) {
	if len(b) < frameHead {
		return f, b, false, nil
	}
	size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	if size > mostFrame {
		return f, b, false, errProtocol
	}
	if len(b) < frameHead+size {
		return f, b, false, nil
	}
	f = frame{b[3], b[4], binary.BigEndian.Uint32(b[5:]) & mostWindow, b[frameHead : frameHead+size]}
	return f, b[frameHead+size:], true, nil
}

// content returns the body of a DATA or HEADERS frame, without the padding and priority.
func (f *frame) content() ([]byte, error) {
	b, pad := f.body, 0
	if f.flags&flagPadded != 0 {
		if len(b) == 0 {
			return nil, errProtocol
		}
		pad, b = int(b[0]), b[1:]
	}
	if f.kind == frameHeaders && f.flags&flagPriority != 0 {
		if len(b) < 5 {
			return nil, errProtocol
		}
		b = b[5:]
	}
	if pad > len(b) {
		return nil, errProtocol
	}
	return b[:len(b)-pad], nil
}

func appendFrame(b []byte, kind, flags byte, stream uint32, body []byte) []byte {
	b = append(b, byte(len(body)>>16), byte(len(body)>>8), byte(len(body)), kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), body...)
}

func appendWindow(b []byte, stream uint32, by uint32) []byte {
	return appendFrame(b, frameWindow, 0, stream, binary.BigEndian.AppendUint32(nil, by))
}
