package corpus

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
)

// Mutants returns all mutants, in the order of their locks in Names.
func Mutants() []Mutant { return slices.Clone(mutants) }

func set(path, value string) Edit { return Edit{Path: path, Value: value} }

func admit(line string) Edit { return Edit{Admit: line} }

func edits(e ...Edit) []Edit { return e }

func breaks(laws ...checker.Law) []checker.Law { return laws }

// Abbreviations that keep the table below readable.
const (
	leases    = checker.LeaseExclusion
	sections  = checker.MutualExclusion
	data      = checker.ResourceSafety
	owners    = checker.Ownership
	tokens    = checker.TokenOrder
	progress  = checker.DeadlockFreedom
	tolerance = checker.FaultTolerance
	order     = checker.Fairness
)

// The numbers of seeds within which mutants must be caught.
const (
	soon  = 100
	later = 1000
	late  = 10_000
	rare  = 20_000 // the fault must strike within a few milliseconds
)

// Citations of documents that describe a defect.
const (
	collins = `Grace Collins (Leapcell), "Distributed locks with Redis: SETNX, Redlock and their controversies", ` +
		"https://leapcell.io/blog"
	youngju = `youngju.dev, "Distributed lock patterns compared: Redis Redlock, ZooKeeper, etcd", ` +
		"https://www.youngju.dev/split/architecture/2026-03-12-distributed-lock-redis-redlock-zookeeper-etcd-comparison"
)

var mutants = []Mutant{
	{"plain-del", "set-nx-px", "deletes the key with DEL, whoever holds the lock", "laravel 26213",
		edits(set("lock.release", "del")), soon, breaks(leases, owners)},
	{"get-then-del", "set-nx-px", "compares, then deletes", "redis-py 1031",
		edits(set("lock.release", "get-then-del")), soon, breaks(leases, owners)},
	{"value-fixed", "set-nx-px", "all clients have one owner value", collins,
		edits(set("lock.value", "fixed")), soon, breaks(owners, leases)},
	{"no-expiry", "set-nx-px", "SETNX sets no expiry", collins,
		edits(set("lock.protocol", "setnx"), set("work.check-validity", "off"), set("work.hold", "500ms")), soon,
		breaks(progress)},
	{"expire-afterwards", "set-nx-px", "SETNX, then EXPIRE", "laravel 31166",
		edits(set("lock.protocol", "setnx-expire")), soon, breaks(progress)},
	{"absolute-expiry", "set-nx-px", "the client computes the expiry before its request, with its own clock",
		"ShedLock 132",
		edits(set("lock.expiry", "absolute")), soon, breaks(leases)},
	{"counted-from-answer", "set-nx-px", "measures the TTL from the reply", "",
		edits(set("work.check-validity", "off")), soon, breaks(leases)},
	{"no-persistence", "set-nx-px", "the server stores nothing on disk", "",
		edits(set("servers.persistence", "none")), soon, breaks(leases)},
	{"fsync-everysec", "set-nx-px", "fsync once a second", "",
		edits(set("servers.persistence.append-fsync", "everysec")), later, breaks(leases)},
	{"fsync-no", "set-nx-px", "the operating system decides when to fsync", "",
		edits(set("servers.persistence.append-fsync", "no")), later, breaks(leases)},
	{"clock-steps", "set-nx-px", "the server's clock may be stepped", "valkey 2651, redis 416",
		edits(admit("jump of servers")), later, breaks(leases)},
	{"clock-drifts", "set-nx-px", "clocks may drift", "",
		edits(admit("drift")), later, breaks(leases)},
	{"disk-lost", "set-nx-px", "the server may lose its disk", "",
		edits(admit("crash losing everything of servers")), later, breaks(leases)},

	{"cad-del", "cad", "DEL instead of CAD", "",
		edits(set("lock.release", "del")), soon, breaks(owners, leases)},

	{"delex-del", "delex", "DEL instead of DELEX", "",
		edits(set("lock.release", "del")), soon, breaks(owners, leases)},

	{"uncounted", "reentrant", "the inner release of a nested acquire frees the lock", "go-zero 1338",
		edits(set("lock.reentrant", "uncounted")), soon, breaks(leases)},
	{"setex-overwrites", "reentrant", "acquiring the lock again overwrites the key of a new owner", "redisson 84",
		edits(set("lock.reentrant", "overwrite")), late, breaks(leases, owners)},

	{"any-answer", "renewed", "an extension of an expired key reports success", "go-redsync 38",
		edits(set("lock.extension.mode", "any-answer")), late, breaks(leases)},
	{"ignore-elapsed", "renewed", "an extension ignores elapsed time", "go-redsync 71, 72",
		edits(set("lock.extension.mode", "ignore-elapsed")), soon, breaks(leases)},
	{"unowned-expire", "renewed", "extends a key without comparing its owner", "",
		edits(set("lock.extension.mode", "expire")), soon, breaks(owners, leases)},
	{"renew-releases", "renewed", "renew() releases", "py-sherlock 66",
		edits(set("lock.extension.mode", "release")), soon, breaks(leases)},
	{"renewed-everysec", "renewed", "extensions are lost in a crash", "",
		edits(set("servers.persistence.append-fsync", "everysec")), later, breaks(leases)},

	{"cas-unowned", "renewed-cas", "extends a key without comparing its owner", "",
		edits(set("lock.extension.mode", "expire")), soon, breaks(owners, leases)},
	{"cas-del", "renewed-cas", "DEL instead of CAD", "",
		edits(set("lock.release", "del")), soon, breaks(leases, owners)},
	{"gives-nothing-back", "renewed-cas", "a release sends no request", "",
		edits(set("lock.release", "nothing")), soon, breaks(tolerance)},

	{"opposite-order", "two-locks", "one client takes the locks in the opposite order", youngju,
		edits(set("overrides.client-2.work.locks", "[b, a]")), soon, breaks(progress)},

	{"no-fence", "fenced", "the resource ignores tokens", "",
		edits(set("resource.fencing", "off")), soon, breaks(data)},
	{"no-token", "fenced", "the lock issues no tokens", "",
		edits(set("lock.protocol", "set-nx-px"), set("resource.fencing", "off")), soon, breaks(data)},
	{"token-read-later", "fenced", "reads the token only after it has acquired the lock", "Redisson fenced lock",
		edits(set("lock.read-token", "later")), late, breaks(tokens, data)},
	{"fenced-everysec", "fenced", "a crash resets the counter to an older value", "",
		edits(set("servers.persistence.append-fsync", "everysec")), soon, breaks(tokens, data)},
	{"fenced-no-persistence", "fenced", "a restart resets the counter to an older value", "",
		edits(set("servers.persistence", "none")), soon, breaks(tokens, data)},
	{"fenced-disk-lost", "fenced", "the counter may be lost with the disk", "",
		edits(admit("crash losing everything of servers")), soon, breaks(tokens, data)},
	{"fenced-del", "fenced", "deletes the key with DEL, whoever holds the lock", "",
		edits(set("lock.release", "del")), soon, breaks(owners)},

	{"silent-reacquire", "fenced-renewed", "an extension acquires the lock again after a gap",
		"redis-semaphore 175, redlock-rb 36",
		edits(set("lock.extension.mode", "or-acquire")), later, breaks(data)},
	{"fenced-unowned-expire", "fenced-renewed", "extends a key without comparing its owner", "",
		edits(set("lock.extension.mode", "expire")), later, breaks(owners)},
	{"renewed-no-fence", "fenced-renewed", "the resource ignores tokens", "",
		edits(set("resource.fencing", "off")), late, breaks(data)},

	{"clients-clock", "semaphore", "each client uses its own clock to remove expired permits",
		"Redis in Action, 6.3; Redisson", edits(set("lock.time", "client")), later, breaks(leases)},
	{"ranked", "semaphore", "the client with the earlier time gets the permit", "Redis in Action, 6.3.1",
		edits(set("lock.time", "client"), set("lock.admit", "rank")), soon, breaks(leases)},
	{"permit-list", "semaphore", "a permit that its holder does not put back is lost", "redisson 2045, 4462",
		edits(set("lock.protocol", "permit-list"), set("work.check-validity", "off"), set("work.hold", "500ms")), soon,
		breaks(progress)},
	{"permits-counted-from-answer", "semaphore", "measures the TTL from the reply", "",
		edits(set("lock.elapsed-check", "off")), soon, breaks(leases)},
	{"permits-unsynced", "semaphore", "fsync once a second", "",
		edits(set("servers.persistence.append-fsync", "everysec")), later, breaks(leases)},

	{"readers-counted", "read-write", "a counter of readers, which a late release decrements", "",
		edits(set("lock.holders", "counter")), soon, breaks(owners, leases)},

	{"barging", "fair", "a client that asks while the lock is free gets it and bypasses the queue", "",
		edits(set("lock.barging", "on")), soon, breaks(order)},
	{"fixed-places", "fair", "a place in the queue expires while its client is still waiting", "redisson 3004",
		edits(set("lock.places", "fixed")), soon, breaks(order)},

	{"one-owner", "hash-counter", "both threads of a client have the same name", "",
		edits(set("lock.value", "per-client")), soon, breaks(leases)},
	{"watchdog-goes-on", "hash-counter", "the watchdog continues after the last release", "redisson 7272",
		edits(set("lock.extension.until", "never")), later, breaks(progress)},

	{"value-in-object", "shared-object", "both threads have their owner value in the same field", "redis-py 416",
		edits(set("overrides.client-1.lock.value-in", "object")), soon, breaks(leases, owners)},

	{"waitaof-ignored", "waitaof", "ignores the count that WAITAOF returns", "",
		edits(set("lock.wait.obey", "off")), later, breaks(leases)},
	{"no-waitaof", "waitaof", "does not wait until the key is on disk", "",
		edits(set("lock.wait", "none")), later, breaks(leases)},

	{"small-quorum", "redlock", "one of three servers is enough to acquire the lock", "",
		edits(set("lock.quorum", "1")), soon, breaks(leases)},
	{"no-elapsed-check", "redlock", "returns a lock that has expired", "node-redlock 296",
		edits(set("lock.elapsed-check", "off")), soon, breaks(leases)},
	{"no-drift-allowance", "redlock", "no allowance for drift", "",
		edits(set("lock.drift-allowance", "off")), late, breaks(leases)},
	{"wall-clock", "redlock", "measures elapsed time on the wall clock", "",
		edits(set("lock.clock", "wall")), late, breaks(leases)},
	{"value-per-acquire", "redlock", "one owner value for all attempts of an acquire", "",
		edits(set("lock.value", "per-acquire")), later, breaks(owners, leases)},
	{"value-per-client", "redlock", "one owner value for all attempts", "",
		edits(set("lock.value", "per-client")), soon, breaks(owners, leases)},
	{"redlock-everysec", "redlock", "a server loses a lock when it crashes", "",
		edits(set("servers.persistence.append-fsync", "everysec")), late, breaks(leases)},
	{"redlock-clock-steps", "redlock", "servers' clocks may step", "valkey 2651, redis 416",
		edits(admit("jump of servers")), later, breaks(leases)},
	{"bare-quorum", "redlock", "a server of the quorum restarts empty", "go-redsync 186",
		edits(admit("crash losing everything of servers, restart within 2300ms")), late, breaks(leases)},
	{"long-node-timeout", "redlock", "waits for a server for longer than the lock is valid", "",
		edits(set("lock.timeout", "6s")), late, breaks(tolerance)},

	{"redlock-drifts", "redlock-parallel", "clocks may drift further than the allowance", "",
		edits(admit("drift above 1000ppm")), late, breaks(leases)},
	{"no-release-on-failure", "redlock-parallel", "leaves partial locks behind", "",
		edits(set("lock.release-on-failure", "off")), soon, breaks(progress)},

	{"unchecked", "redlock-extended", "an extension ignores replies and elapsed time", "",
		edits(set("lock.extension.mode", "unchecked")), soon, breaks(leases)},
	{"redlock-any-answer", "redlock-extended", "an extension of expired keys reports success", "go-redsync 38",
		edits(set("lock.extension.mode", "any-answer")), later, breaks(leases)},
	{"redlock-ignore-elapsed", "redlock-extended", "an extension ignores elapsed time", "go-redsync 71, 72",
		edits(set("lock.extension.mode", "ignore-elapsed")), soon, breaks(leases)},
	{"final-expire", "redlock-extended", "EXPIRE without a check extends another client's key", "Redisson RedLock",
		edits(set("lock.extension.mode", "expire")), soon, breaks(owners, leases)},
	{"extend-releases", "redlock-extended", "extending releases", "",
		edits(set("lock.extension.mode", "release")), soon, breaks(leases)},
	{"extend-by-acquiring", "redlock-extended", "extends by acquiring again", collins,
		edits(set("lock.extension.mode", "reacquire")), soon, breaks(leases)},
	{"uncapped", "redlock-extended", "extends forever", "",
		edits(set("lock.extension.limit", "none")), soon, breaks(progress)},

	{"restart-at-once", "redlock-delayed-restart", "a server without persistence restarts immediately",
		"go-redsync 186",
		edits(admit("crash of servers, restart within 2100ms")), late, breaks(leases)},
	{"clean-restart-at-once", "redlock-delayed-restart", "a server without persistence restarts immediately", "",
		edits(admit("shut down, restart within 2100ms")), late, breaks(leases)},

	{"no-wait", "waited", "does not wait for replicas", "",
		edits(set("lock.wait", "none")), later, breaks(tokens, leases)},
	{"wait-ignored", "waited", "continues whatever WAIT returns", "",
		edits(set("lock.wait.obey", "off")), later, breaks(leases, tokens)},
	{"one-acknowledgement", "waited", "one of two replicas is enough to acquire the lock", "redisson 2669",
		edits(set("lock.wait.replicas", "1")), later, breaks(tokens, leases)},
	{"wait-elsewhere", "waited", "sends WAIT to the new master, which did not get the write", "",
		edits(set("lock.wait.same-connection", "off")), later, breaks(leases, tokens)},
	{"replicas-forget", "waited", "a crash resets the counter to an older value", "",
		edits(set("servers.persistence.append-fsync", "everysec")), later, breaks(tokens, leases)},

	{"asynchronous", "semi-sync", "replies before a replica has the write", "",
		edits(set("servers.semi-sync", "off")), later, breaks(leases)},
	{"falls-back", "semi-sync", "continues without its replica after 20 ms", "",
		edits(set("servers.semi-sync-timeout", "20ms")), later, breaks(leases)},

	{"cluster-no-wait", "cluster", "does not wait for replicas", "",
		edits(set("lock.wait", "none")), later, breaks(leases)},

	{"not-rechecked", "etcd", "the lease is not rechecked after waiting", "etcd 11456",
		edits(set("lock.recheck", "off")), later, breaks(leases)},
	{"counted-from-receipt", "etcd", "measures the lease from the reply", "",
		edits(set("lock.count-from", "receipt")), rare, breaks(leases)},
	{"etcd-session-expired", "etcd", "leases may end early", "",
		edits(admit("expire session")), soon, breaks(leases)},

	{"stale-unlock", "etcd-fenced", "a stale unlock deletes a newer key", "etcd 22082",
		edits(set("lock.compare-revision", "off")), late, breaks(owners)},
	{"etcd-no-fence", "etcd-fenced", "the resource ignores tokens", "",
		edits(set("resource.fencing", "off")), later, breaks(data)},

	{"no-listener", "zookeeper", "continues to work while suspended", "",
		edits(set("lock.listener", "off")), late, breaks(sections)},
	{"works-on", "zookeeper", "continues to work when told that the lock is lost", "",
		edits(set("work.stop-when-lost", "off")), late, breaks(sections)},
	{"zookeeper-pause", "zookeeper", "clients may pause", "",
		edits(admit("pause of clients")), later, breaks(sections)},
	{"dying-session", "zookeeper", "relies on the znode of a session that is about to expire", "curator 1121",
		edits(set("lock.check-session", "off")), later, breaks(sections)},
	{"zookeeper-session-expired", "zookeeper", "sessions may end early", "",
		edits(admit("expire session")), later, breaks(sections)},

	{"readers-work-on", "zookeeper-read-write", "continues to work while suspended", "",
		edits(set("lock.listener", "off")), late, breaks(sections)},

	{"bare-names", "zookeeper-fenced", "deletes another client's znode with the same name", "zk-ruby 34",
		edits(set("lock.names", "bare")), late, breaks(owners)},
	{"parent-token", "zookeeper-fenced", "all holders share the folder's czxid", youngju,
		edits(set("lock.token", "parent-node")), soon, breaks(tokens)},
	{"zookeeper-no-fence", "zookeeper-fenced", "the resource ignores tokens", "",
		edits(set("resource.fencing", "off")), later, breaks(data)},

	{"renew-time", "lease-object", "trusts the renew time in the record", "",
		edits(set("lock.count-lease-from", "renew-time")), later, breaks(leases, sections)},
	{"no-renew-deadline", "lease-object", "a leader never gives up", "",
		edits(set("lock.renew-deadline", "none"), set("work.hold", "20s")), later, breaks(leases, sections)},
	{"any-version", "lease-object", "updates the record, whatever its version", "",
		edits(set("lock.resource-version", "any")), later, breaks(leases, sections, owners)},
	{"one-identity", "lease-object", "all replicas have one identity", "",
		edits(set("lock.value", "fixed")), soon, breaks(leases, sections, owners)},
	{"leader-works-on", "lease-object", "continues to work when it is no longer the leader", "",
		edits(set("work.stop-when-lost", "off"), set("work.hold", "20s"), set("work.check-validity", "off")), later,
		breaks(sections)},
	{"leader-pauses", "lease-object", "clients may pause", "",
		edits(admit("pause of clients")), later, breaks(leases, sections)},

	{"transitions-repeated", "lease-object-fenced", "a process leads twice under one identity", "",
		edits(set("lock.value", "per-client")), soon, breaks(tokens, data)},
	{"lease-object-no-fence", "lease-object-fenced", "the resource ignores tokens", "",
		edits(set("resource.fencing", "off")), late, breaks(data)},

	{"monitor-only", "consul", "does not measure the TTL; neither does api.Lock", "",
		edits(set("lock.monitor-only", "on"), set("work.hold", "25s"), set("work.cycles", "1")), later,
		breaks(leases, sections)},
	{"deletes-key", "consul", "releases the lock with DELETE", "",
		edits(set("lock.unlock", "delete")), later, breaks(leases, owners, sections)},
	{"consul-session-expired", "consul", "sessions may end early", "",
		edits(admit("expire session")), later, breaks(leases, sections)},

	{"lock-index", "consul-fenced", "uses the LockIndex of keys that are deleted as the fencing token", "",
		edits(set("lock.sequencer", "lock-index"), set("lock.behavior", "delete")), soon, breaks(tokens, data)},
	{"consul-no-fence", "consul-fenced", "the resource ignores tokens", "",
		edits(set("resource.fencing", "off")), late, breaks(data)},
}
