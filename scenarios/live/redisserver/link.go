package redisserver

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// link is a connection to the server process. It corresponds to one client connection.
type link struct {
	id uint64
	w  *wire

	mu      sync.Mutex
	come    []item // values that were read and are not handled yet
	ended   bool   // whether the connection has ended, so that no more values will be read
	awaited bool   // whether a goroutine waits for a reply
	// contains one element if a value has arrived, or the connection has ended, since the last check
	news    chan struct{}
	idle    func() // called when data arrives and nobody is waiting
	listens int    // number of subscriptions

	// Only the executor uses the fields below.
	multi   bool
	queued  [][]string // commands between MULTI and EXEC
	writes  []string   // on a user's server: the keys that these commands may write
	limited bool       // whether the reply ends with a value for the command that gives keys a time to live
	blocked *request   // the request that is blocked on the server
	want    int        // number of values in its reply
	behind  []*request // requests that wait for the blocked one
	heard   map[string]map[string]bool
}

// item is a value that was read from the server. A push is a value that the server sends without a request.
type item struct {
	raw  []byte
	push bool
}

func newLink(id uint64, w *wire, idle func()) *link {
	l := &link{id: id, w: w, news: make(chan struct{}, 1), idle: idle,
		heard: map[string]map[string]bool{}}
	go l.listen()
	return l
}

// listen reads values until the connection ends.
func (l *link) listen() {
	for {
		raw, err := l.w.raw(nil)
		l.mu.Lock()
		if err != nil {
			l.ended = true
		} else {
			l.come = append(l.come, item{raw, l.isPush(raw)})
		}
		awaited := l.awaited
		l.mu.Unlock()
		if awaited {
			select {
			case l.news <- struct{}{}:
			default:
			}
		} else {
			l.idle()
		}
		if err != nil {
			return
		}
	}
}

// pushes lists the first words of values that a server sends unprompted.
var pushes = []string{"message", "pmessage", "smessage", "invalidate", "tracking-redir-broken"}

// isPush reports whether a value is a push. The caller must hold mu.
func (l *link) isPush(raw []byte) bool {
	if raw[0] != '>' && (raw[0] != '*' || l.listens == 0) {
		return false
	}
	v, _ := resp.Parse(raw)
	return len(v.List) > 0 && slices.Contains(pushes, v.List[0].Text)
}

// errLinkEnded reports that the server process has closed its end of a client's connection.
var errLinkEnded = errors.New("the connection has ended")

// take removes and returns what has arrived up to the end of a reply of want values: the reply and the pushes before
// it. If the reply is not complete yet, take removes nothing, and whole is false. If it can no longer be completed,
// because the connection has ended, take returns the pushes and errLinkEnded. If want is 0, take returns the pushes
// that precede the first other value.
func (l *link) take(want int) (pushes [][]byte, answer []byte, whole bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	values, used := 0, 0
	for used < len(l.come) && (values < want || want == 0) {
		if !l.come[used].push {
			if want == 0 {
				break
			}
			values++
		}
		used++
	}
	if values < want && !l.ended {
		return nil, nil, false, nil
	}
	for _, i := range l.come[:used] {
		if i.push {
			pushes = append(pushes, i.raw)
		} else {
			answer = append(answer, i.raw...)
		}
	}
	l.come = append(l.come[:0], l.come[used:]...)
	if values < want || l.ended && want == 0 && len(l.come) == 0 {
		return pushes, nil, false, errLinkEnded
	}
	return pushes, answer, want > 0, nil
}

// hasValue reports whether a value has arrived or the connection has ended.
func (l *link) hasValue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.come) > 0 || l.ended
}

// await waits for a reply that consists of the given number of values. It stops waiting when stop is closed.
func (l *link) await(want int, stop <-chan struct{}) (pushes [][]byte, answer []byte, err error) {
	l.setAwaited(true)
	defer l.setAwaited(false)
	for {
		more, answer, whole, err := l.take(want)
		pushes = append(pushes, more...)
		if whole || err != nil {
			return pushes, answer, err
		}
		select {
		case <-l.news:
		case <-stop:
			return pushes, nil, fleet.ErrOver
		}
	}
}

// setAwaited records whether a goroutine is waiting for a reply. If a value arrived just before the wait ended,
// setAwaited calls idle.
func (l *link) setAwaited(is bool) {
	l.mu.Lock()
	l.awaited = is
	left := !is && (len(l.come) > 0 || l.ended)
	l.mu.Unlock()
	if left {
		l.idle()
	}
}

// keepTransaction stores the commands between MULTI and EXEC.
func (l *link) keepTransaction(name string, r *request, answer []byte) {
	switch {
	case name == "exec":
		r.commands = l.queued
		l.multi, l.queued = false, nil
	case name == "discard", name == "reset":
		l.multi, l.queued = false, nil
	case name == "multi" && answer[0] == '+':
		l.multi = true
	case l.multi && strings.HasPrefix(string(answer), "+QUEUED"):
		l.queued = append(l.queued, r.args)
	}
}

// subscriptions contains the commands that get one reply for each channel that they name. kind says what the command
// subscribes to or unsubscribes from. ends is true if it unsubscribes.
var subscriptions = map[string]struct {
	kind string
	ends bool
}{
	"subscribe": {"channels", false}, "unsubscribe": {"channels", true},
	"psubscribe": {"patterns", false}, "punsubscribe": {"patterns", true},
	"ssubscribe": {"shards", false}, "sunsubscribe": {"shards", true},
}

// answers returns the number of values in the reply to a request. This number depends on the current subscriptions, so
// answers also keeps track of them.
func (l *link) answers(name string, args []string) int {
	if name == "reset" {
		l.heard = map[string]map[string]bool{}
		l.setListens()
	}
	s, is := subscriptions[name]
	if !is || l.multi {
		return 1
	}
	channels := l.heard[s.kind]
	if channels == nil {
		channels = map[string]bool{}
		l.heard[s.kind] = channels
	}
	count := len(args) - 1
	if s.ends && count == 0 {
		count = max(len(channels), 1)
		clear(channels)
	}
	for _, c := range args[1:] {
		if s.ends {
			delete(channels, c)
		} else {
			channels[c] = true
		}
	}
	l.setListens()
	return max(count, 1)
}

// setListens passes the number of subscriptions to the goroutine that reads values.
func (l *link) setListens() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listens = 0
	for _, channels := range l.heard {
		l.listens += len(channels)
	}
}
