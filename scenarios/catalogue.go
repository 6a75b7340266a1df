package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
)

// catalogueFiles contains the catalog's scenario files. Those in the folder catalogue/printed reproduce code samples
// from published documents, with the samples' exact settings.
//
//go:embed catalogue/*.yaml catalogue/printed/*.yaml
var catalogueFiles embed.FS

// Format is the scenario file format reference, in Markdown.
//
//go:embed FORMAT.md
var Format string

// Section is a titled section of the catalog, with the names of its scenarios.
type Section struct {
	Title string
	Names []string
}

// Sections lists the catalog's scenarios in the recommended reading order.
var Sections = []Section{
	{"One Redis", []string{
		"setnx-holder-crash", "setnx-expire-crash-between", "set-nx-px-holder-crash", "del-by-slow-client",
		"lua-release-by-slow-client", "get-then-del-race", "renewal-keeps-lock", "fenced-gc-pause",
		"fence-refuses-equal", "pubsub-message", "pubsub-lost-message", "pubsub-lost-message-or-ttl",
		"resource-compare-and-set", "idempotent-resource", "release-before-commit", "release-before-commit-fenced",
		"try-lock-leaves-key", "try-lock-cleans-up", "shared-lock-object", "shared-lock-object-value-of-call",
		"reentrant-uncounted", "reentrant-counted", "hash-counter-watchdog", "hash-counter-watchdog-stops",
		"hash-counter-watchdog-goes-on", "hash-counter-one-owner", "hash-counter-owner-of-thread",
		"single-redis-down", "single-restart-forgets", "clean-restart-ttl-runs-on", "fenced-everysec",
		"fenced-fsync-always", "waitaof-everysec",
		"evicted-lock", "operator-deletes-lock", "operator-flushes-server", "client-pause"}},
	{"Redlock, five masters", []string{
		"kleppmann-gc-pause", "kleppmann-late-write", "kleppmann-clock-jump", "pause-while-acquiring",
		"no-elapsed-check", "wall-clock-client", "monotonic-client", "no-drift-allowance", "drift-allowance",
		"restart-forgets", "restart-everysec", "restart-fsync-always", "clean-restart", "delayed-restart",
		"delayed-restart-too-short", "majority-crash", "minority-down", "long-node-timeout",
		"timeout-of-half-a-second", "partition-penalty", "sequential-vs-parallel", "split-vote-fixed-delay",
		"split-vote-random-delay", "split-vote-listed", "split-vote-parallel", "no-release-on-failure",
		"release-where-granted", "release-everywhere", "quorum-of-two", "skew-of-an-hour", "continuous-partitions",
		"hung-master", "extension", "extension-without-check", "extension-by-reacquire", "extension-uncapped",
		"token-per-acquire", "token-per-client", "evicted-on-one-of-five"}},
	{"Semaphores", []string{
		"semaphore-clients-clock", "semaphore-servers-clock", "semaphore-rank", "permit-list-holder-crash",
		"semaphore-holder-crash", "etcd-semaphore", "zookeeper-semaphore"}},
	{"Read-write locks on Redis", []string{
		"read-write-one-lease", "read-write-own-lease", "read-write-counter", "read-write-late-reader",
		"read-write-writer-waits", "read-write-writers-first"}},
	{"Fair locks on Redis", []string{
		"fair-queue", "fair-queue-fixed-places", "fair-queue-waiter-crash", "fair-queue-kept-places",
		"fair-queue-added-places", "fair-queue-not-withdrawn"}},
	{"Replication", []string{
		"failover-loses-lock", "failover-wait", "failover-wait-ignored", "failover-during-wait",
		"failover-during-wait-ignored", "failover-wait-other-replica", "wait-as-long-as-ttl",
		"wait-blocks-nobody-else", "failover-waitaof-master",
		"failover-loses-release", "semi-sync", "semi-sync-degraded", "tair-cad-release",
		"tair-cas-renewal", "delex-release", "split-brain-old-master", "min-replicas-window",
		"redlock-failover-loses-locks", "redlock-failover-wait", "redlock-until-majority", "redlock-asks-all"}},
	{"Redis Cluster", []string{
		"cluster-failover-loses-lock", "cluster-failover-wait", "cluster-failover-wait-other-replica",
		"cluster-minority-master"}},
	{"etcd", []string{
		"etcd-lease-pause", "etcd-lease-pause-fenced", "etcd-lease-not-rechecked", "etcd-lease-rechecked",
		"etcd-keepalive-lost", "etcd-keepalive-lost-ignored", "etcd-keepalive-counted-from-receipt",
		"etcd-leader-change", "etcd-leader-change-late-renewal", "etcd-leader-change-late-renewal-fenced",
		"etcd-predecessor", "consensus-under-faults"}},
	{"ZooKeeper", []string{
		"zookeeper-session-expiry", "zookeeper-listener", "zookeeper-reconnect", "zookeeper-pause",
		"zookeeper-pause-fenced", "zookeeper-fence-parent-czxid", "zookeeper-herd", "zookeeper-predecessor",
		"zookeeper-read-write-lock", "zookeeper-readers-together", "zookeeper-timeout-leaves-node",
		"zookeeper-timeout-withdraws", "zookeeper-under-faults"}},
	{"Kubernetes", []string{
		"kubernetes-leader-crash", "kubernetes-handover", "kubernetes-handover-released", "kubernetes-cut-off",
		"kubernetes-cut-off-ignored", "kubernetes-leader-pause", "kubernetes-leader-pause-fenced",
		"kubernetes-answer-held-up", "kubernetes-answer-held-up-longer-lease", "kubernetes-release-held-up",
		"kubernetes-release-clears-another", "kubernetes-clocks-set", "kubernetes-clocks-set-renew-time",
		"kubernetes-own-lease-duration", "kubernetes-recorded-lease-duration",
		"kubernetes-clock-rate", "kubernetes-clock-rate-documented", "kubernetes-clock-rate-allowed",
		"kubernetes-member-lost", "kubernetes-one-identity", "kubernetes-transitions-repeated"}},
	{"Consul", []string{
		"consul-holder-crash", "consul-lock-delay", "consul-no-lock-delay", "consul-pause", "consul-pause-fenced",
		"consul-cut-off", "consul-cut-off-monitor", "consul-lock-index", "consul-delete-key",
		"consul-release-key"}},
	{"Several locks", []string{
		"two-locks-opposite-order", "two-locks-same-order", "two-locks-hierarchy", "two-locks-with-timeout",
		"lock-granularity"}},
	{"Code as printed in the documents", []string{
		"printed-setnx-wall-wait", "printed-setnx-constant-id", "printed-setnx-expire", "printed-set-nx-ex",
		"printed-redlock-release-ends", "printed-redlock-hung-master", "printed-redlock-clock-step",
		"printed-simple-lock-gives-up", "printed-simple-lock-late-release", "printed-redlock-class-retries",
		"printed-zookeeper-lock", "printed-zookeeper-listener", "printed-zookeeper-listener-lost",
		"printed-etcd-lock", "printed-etcd-lock-mended", "printed-etcd-keepalive-stops",
		"printed-etcd-keepalive-heedless", "printed-tair-cas-longer", "printed-tair-cas-restart",
		"printed-set-nx-px-script"}},
}

// Names lists all scenarios in the catalog.
func Names() []string {
	var names []string
	for _, s := range Sections {
		names = append(names, s.Names...)
	}
	return names
}

// Named returns the catalog scenario with the given name. If there is none, the error matches fs.ErrNotExist.
func Named(name string) (*Scenario, error) {
	path, text, err := fileOf(name)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// fileOf returns the path and text of the named catalog scenario's file.
func fileOf(name string) (path string, text []byte, err error) {
	for _, folder := range folders {
		path = folder + name + ".yaml"
		if text, err = catalogueFiles.ReadFile(path); err == nil {
			return path, text, nil
		}
	}
	return "", nil, fmt.Errorf("the catalog has no scenario %q: %w", name, fs.ErrNotExist)
}

// folders lists the folders that contain the catalog's files.
var folders = []string{"catalogue/", "catalogue/printed/"}
