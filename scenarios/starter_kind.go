package scenarios

import "github.com/fencepost-sim/fencepost/scenarios/locks"

// Kind is a lock for which there is a starter file: a protocol, or a protocol with settings that make another kind of
// lock of it.
type Kind struct {
	Name string
	Text string // what it is, without a capital letter and a period
	Lock *locks.Definition
	set  map[string]string // values of keys in place of their defaults, by path
}

// Kinds returns all locks for which there is a starter file: first the protocols, in their order.
func Kinds() (all []*Kind) {
	for _, d := range locks.Definitions() {
		all = append(all, &Kind{Name: string(d.Name), Text: d.Text, Lock: d, set: map[string]string{}})
	}
	all = append(all,
		&Kind{Name: "reentrant", Lock: locks.Define(locks.HashCounter),
			Text: "a function that holds the lock calls another that acquires it; the server counts the holds, and a " +
				"watchdog renews the lock until the last release",
			set: map[string]string{"work.nested": "on", "lock.extension.until": "last-release"}},
		&Kind{Name: "try-lock", Lock: locks.Define(locks.SetNXPX),
			Text: "a client that does not get the lock within a second gives up, and deletes what a late request may " +
				"have left",
			set: map[string]string{"lock.ttl": "2s", "lock.retry.patience": "1s",
				"lock.retry.patience-ends": "request", "lock.release-on-failure": "on"}},
		&Kind{Name: "tasks", Lock: locks.Define(locks.SetNXPX),
			Text: "two threads of each client share one lock object, which keeps the owner value with each call",
			set:  map[string]string{"work.tasks": "2", "lock.value-in": "call"}},
		&Kind{Name: "early-release", Lock: locks.Define(locks.Fenced),
			Text: "the work releases the lock before its transaction is committed; fencing tokens protect the data",
			set:  map[string]string{"work.release-before-write": "on"}},
		&Kind{Name: "cluster", Lock: locks.Define(locks.SetNXPX),
			Text: "SET NX PX on a Redis Cluster, with WAIT for the replica",
			set: map[string]string{"servers.cluster": "on", "servers.replicas": "1", "servers.node-timeout": "1s",
				"lock.wait.replicas": "1", "lock.wait.timeout": "100ms"}},
	)
	for _, k := range all {
		// Otherwise a client that counts its lease from a late reply overlaps the next one in one run of five hundred.
		if s := k.Lock.Setting("elapsed-check"); s != nil && s.Depends != "" {
			k.set["lock.elapsed-check"] = "on"
		}
	}
	return all
}

// KindNamed returns the lock with a name, or nil if there is none.
func KindNamed(name string) *Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// cluster reports whether the servers are a Redis Cluster.
func (f *starterFile) cluster() bool { return f.kind.set["servers.cluster"] == "on" }

// holder returns a server that has the key of the lock: in a Cluster of three masters, lock is in a slot of the second.
func (f *starterFile) holder() string {
	if f.cluster() {
		return "redis-2"
	}
	return string(f.def.Backend) + "-1"
}
