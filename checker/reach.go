package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// quorumReachable reports whether from position call to position end the client was up and unpaused, and at least a
// quorum of servers was up, unpaused and reachable from it.
func (t *trace) quorumReachable(client history.Process, call, end int) bool {
	t.away = t.away[:0]
	for i := range t.faults {
		f := &t.faults[i]
		if f.from > end || t.mended(f) < call || f.kind.IsClock() {
			continue
		}
		if !f.kind.IsLink() && f.kind != history.SlowFsync && f.Strikes(client) {
			return false
		}
		for _, s := range f.Struck() {
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
	if !f.kind.IsLink() {
		return true
	}
	if len(f.To) == 0 { // a foreign history, which does not say who is on which side
		return true
	}
	if slices.Contains(f.On, client) {
		return slices.Contains(f.To, s)
	}
	if slices.Contains(f.To, client) {
		return slices.Contains(f.On, s)
	}
	if !slices.ContainsFunc(f.On, t.isServer) || !slices.ContainsFunc(f.To, t.isServer) {
		return false // a link of other clients
	}
	smaller := f.On
	if len(f.On) > len(f.To) {
		smaller = f.To
	}
	return slices.Contains(smaller, s)
}

func (t *trace) isServer(p history.Process) bool {
	h := &t.h.Header
	return slices.Contains(h.Servers, p) || slices.ContainsFunc(h.Shards, func(shard []history.Process) bool { return slices.Contains(shard, p) })
}
