package scenarios

import "github.com/fencepost-sim/fencepost/scenarios/locks"

// Kind is a lock that has a starter file. It is a protocol, with its default settings or with settings that make it a
// different lock.
type Kind struct {
	Name string
	Text string // what it is, as a phrase that begins in lower case and has no period
	Lock *locks.Definition
	set  map[string]string // by path: the values of keys that differ from the defaults
}

// Kinds returns all locks that have a starter file. The protocols come first, in the order of the reference
// documentation.
func Kinds() (all []*Kind) {
	for _, d := range locks.Definitions() {
		all = append(all, &Kind{Name: string(d.Name), Text: d.Text, Lock: d, set: map[string]string{}})
	}
	all = append(all,
		&Kind{Name: "reentrant", Lock: locks.Define(locks.HashCounter),
			Text: "a function that holds the lock calls another that acquires it; " +
				"the server counts the holds of the lock, and a watchdog renews the lock until the last release",
			set: map[string]string{"work.nested": "on", "lock.extension.until": "last-release"}},
		&Kind{Name: "try-lock", Lock: locks.Define(locks.SetNXPX),
			Text: "a client that does not get the lock within a second gives up, " +
				"and deletes what a late request may have left",
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
		// If the client does not check the elapsed time, in about one run in five hundred its lease begins with a late
		// reply and overlaps the next lease.
		if s := k.Lock.Setting("elapsed-check"); s != nil && s.Depends != "" {
			k.set["lock.elapsed-check"] = "on"
		}
	}
	return all
}

// KindNamed returns the lock with the given name, or nil if there is none.
func KindNamed(name string) *Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// cluster reports whether the servers form a Redis Cluster.
func (f *starterFile) cluster() bool { return f.kind.set["servers.cluster"] == "on" }

// holder returns a server that stores the lock's key. In a Cluster with three masters, the slot of the key "lock"
// belongs to the second one.
func (f *starterFile) holder() string {
	if f.cluster() {
		return "redis-2"
	}
	return string(f.def.Backend) + "-1"
}
