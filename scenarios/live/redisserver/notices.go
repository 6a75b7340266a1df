package redisserver

import (
	"fmt"
	"strings"
)

// ear is the connection on which a server reports changes to its keys.
type ear struct{ w *wire }

// notice is a change to a key. event is its name in Redis's keyspace notifications. The "flushall" event concerns all
// keys; Redis reports it only to client-side caches.
type notice struct{ event, key string }

const (
	eventChannel = "__keyevent@0__:"
	flushed      = "flushall"
)

// listenAt opens a connection on which a server reports changes to its keys.
func listenAt(e endpoint) (*ear, error) {
	w, err := e.dial()
	if err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"HELLO", "3"},
		{"CONFIG", "SET", "notify-keyspace-events", "EA"},
		// The server reports key changes as keyspace events, and flushes as invalidations. No key has this prefix, so
		// there are no other invalidations.
		{"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "\x00fencepost: no key\x00"},
		{"PSUBSCRIBE", eventChannel + "*"},
	} {
		v, err := w.ask(args...)
		if err == nil && v.IsError() {
			err = fmt.Errorf("%s: %s", strings.Join(args, " "), v.Text)
		}
		if err != nil {
			w.close()
			return nil, err
		}
	}
	return &ear{w}, nil
}

// barrier returns all key changes since the last call, in order.
func (e *ear) barrier() (list []notice, err error) {
	if err := e.w.send([]string{"PING"}); err != nil {
		return nil, err
	}
	for {
		v, err := e.w.read()
		if err != nil {
			return list, err
		}
		switch {
		case v.Kind == '+' || v.IsError(): // the reply to PING; it is an error if the server cannot write to disk
			return list, nil
		case v.Kind != '>' || len(v.List) == 0:
		case v.List[0].Text == "pmessage" && len(v.List) == 4:
			event := strings.TrimPrefix(v.List[2].Text, eventChannel)
			list = append(list, notice{event, v.List[3].Text})
		case v.List[0].Text == "invalidate" && len(v.List) == 2 && v.List[1].Null:
			list = append(list, notice{event: flushed})
		}
	}
}
