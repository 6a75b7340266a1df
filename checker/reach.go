package checker

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// quorumReachable reports whether from position call to position end the client was up and unpaused, and at least a
// quorum of servers was up, unpaused and reachable from it.
func (t *trace) quorumReachable(client history.Process, call, end int) bool {
	t.away = t.away[:0]
	for i := range t.faults {
		f := &t.faults[i]
		if f.from > end || t.mended(f) < call || f.isClock() {
			continue
		}
		if !f.isLink() && f.kind != slowFault && f.strikes(client) {
			return false
		}
		for _, s := range f.on {
			if s != client && t.separates(f, client, s) && !slices.Contains(t.away, s) {
				t.away = append(t.away, s)
			}
		}
	}
	return t.enough()
}

// oneService reports whether the header's quorum is one of servers that keep a single copy between them (etcd,
// ZooKeeper), not of shards that each keep their own.
func oneService(h *history.Header) bool { return len(h.Shards) > 0 && len(h.Shards) < h.Quorum }

// enough reports whether a quorum is left without the servers in t.away.
func (t *trace) enough() bool {
	h := &t.h.Header
	away := func(s history.Process) bool { return slices.Contains(t.away, s) }
	left := 0
	if len(h.Shards) == 0 || oneService(h) {
		for _, s := range h.Servers {
			if !away(s) {
				left++
			}
		}
		return left >= h.Quorum
	}
	for _, shard := range h.Shards {
		if !slices.ContainsFunc(shard, away) {
			left++
		}
	}
	return left >= h.Quorum
}

// separates reports whether f keeps server s from serving the client: any fault of the server itself does; one of a
// link if the link joins the two, or joins s to others that it has to agree with: then the smaller side is out.
func (t *trace) separates(f *fault, client, s history.Process) bool {
	if !f.isLink() {
		return true
	}
	left, right, ok := f.sides()
	if !ok { // a line in other words: all that stand on the list
		return true
	}
	name := string(s)
	if slices.Contains(left, string(client)) {
		return slices.Contains(right, name)
	}
	if slices.Contains(right, string(client)) {
		return slices.Contains(left, name)
	}
	named := func(name string) bool { return t.isServer(history.Process(name)) }
	if !slices.ContainsFunc(left, named) || !slices.ContainsFunc(right, named) {
		return false // a link of other clients
	}
	if len(left) > len(right) {
		left = right
	}
	return slices.Contains(left, name)
}

func (t *trace) isServer(p history.Process) bool {
	h := &t.h.Header
	return slices.Contains(h.Servers, p) || slices.ContainsFunc(h.Shards, func(shard []history.Process) bool { return slices.Contains(shard, p) })
}

// sides reads the two ends of a link from a fault line: "cut client-1 client-2 | redis-1 at 1s for 5s".
func (f *fault) sides() (left, right []string, ok bool) {
	words := strings.Fields(f.line)
	i := slices.IndexFunc(words, func(w string) bool { return w == "|" || w == "->" })
	if i < 0 {
		return nil, nil, false
	}
	for _, w := range words[i+1:] {
		if !slices.Contains(f.on, history.Process(w)) { // "at", "for", "by"
			break
		}
		right = append(right, w)
	}
	return words[1:i], right, true
}
