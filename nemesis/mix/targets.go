package mix

import (
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// targets are the processes of a run, sorted by what can happen to them.
type targets struct {
	processes []sim.ProcessID   // all
	servers   []sim.ProcessID   // lock servers
	crashing  []sim.ProcessID   // clients and lock servers
	answering []sim.ProcessID   // those that reply to clients
	shards    [][]sim.ProcessID // groups of at least two
	sessions  []sim.ProcessID   // clients that may have a session
	clients   []sim.ProcessID
	redis     []sim.ProcessID
	linked    []linkEnd       // processes with at least one link
	links     []sim.ProcessID // the other ends, one stretch per linkEnd
}

// linkEnd is a process and the stretch of targets.links that lists whom it exchanges messages with.
type linkEnd struct {
	process      sim.ProcessID
	first, count int
}

func targetsOf(n *nemesis.Names) targets {
	t := targets{
		servers: slices.Concat(n.Redis, n.Consensus),
		clients: n.Clients,
		redis:   n.Redis,
	}
	t.crashing = slices.Concat(n.Clients, t.servers)
	t.processes, t.answering = t.crashing, t.servers
	if n.Resource != "" {
		t.processes = slices.Concat(t.processes, []sim.ProcessID{n.Resource})
		t.answering = slices.Concat(t.answering, []sim.ProcessID{n.Resource})
	}
	for _, group := range n.Shards {
		if len(group) > 1 {
			t.shards = append(t.shards, group)
		}
	}
	if len(n.Consensus) > 0 {
		t.sessions = n.Clients
	}
	for _, a := range t.processes {
		end := linkEnd{process: a, first: len(t.links)}
		for _, b := range t.processes {
			if n.Linked(a, b) {
				t.links = append(t.links, b)
			}
		}
		if end.count = len(t.links) - end.first; end.count > 0 {
			t.linked = append(t.linked, end)
		}
	}
	return t
}

// has reports whether a fault of kind k can strike anything.
func (t *targets) has(k nemesis.Kind) bool {
	switch k {
	case nemesis.Pause, nemesis.Jump, nemesis.Drift:
		return len(t.processes) > 0
	case nemesis.Crash:
		return len(t.crashing) > 0
	case nemesis.ShutDown:
		return len(t.servers) > 0
	case nemesis.FailOver:
		return len(t.shards) > 0
	case nemesis.Cut, nemesis.DelayLink, nemesis.DelayMessage:
		return len(t.linked) > 0
	case nemesis.Break:
		return len(t.clients) > 0 && len(t.answering) > 0
	case nemesis.SlowFsync:
		return len(t.redis) > 0
	case nemesis.ExpireSession:
		return len(t.sessions) > 0
	}
	return false
}
