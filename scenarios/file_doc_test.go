package scenarios

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// withKey returns base with one key added or changed. base is a file that consists of flow mappings, one per line. A
// key that contains a dot is inside a mapping. The part before the first dot is the mapping's name. If the mapping's
// line is missing, it is added.
func withKey(t testing.TB, base, key, value string) string {
	t.Helper()
	top, rest, nested := strings.Cut(key, ".")
	if !nested {
		rest = ""
	}
	lines := strings.SplitAfter(base, "\n")
	for i, l := range lines {
		old, ok := strings.CutPrefix(l, top+": ")
		switch {
		case !ok:
		case rest == "":
			lines[i] = top + ": " + value + "\n"
			return strings.Join(lines, "")
		default:
			inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(old), "{"), "}")
			name, _, _ := strings.Cut(rest, ".")
			inner = regexp.MustCompile(regexp.QuoteMeta(name)+`: (\{[^}]*\}|[^,}]*)(, )?`).ReplaceAllString(inner, "")
			lines[i] = top + ": {" + strings.TrimSuffix(nest(rest, value)+", "+inner, ", ") + "}\n"
			return strings.Join(lines, "")
		}
	}
	if rest == "" {
		return base + top + ": " + value + "\n"
	}
	return base + top + ": {" + nest(rest, value) + "}\n"
}

// nest returns YAML that sets a key such as "a.b" to the value v: a: {b: v}.
func nest(key, value string) string {
	first, rest, nested := strings.Cut(key, ".")
	if !nested {
		return first + ": " + value
	}
	return first + ": {" + nest(rest, value) + "}"
}

// documented returns the rows of the settings tables in FORMAT.md.
func documented(t *testing.T) (rows []struct{ key, standard string }) {
	inTable := false
	for _, line := range strings.Split(formatDoc(t), "\n") {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "or"), "|")
		switch {
		case len(cells) != 6:
			inTable = false
		case strings.TrimSpace(cells[1]) == "key":
			inTable = true
		case inTable && !strings.Contains(cells[1], "---"):
			rows = append(rows, struct{ key, standard string }{strings.Trim(cells[1], " `"),
				strings.TrimSpace(cells[3])})
		}
	}
	if len(rows) < 40 {
		t.Fatalf("FORMAT.md documents only %d keys", len(rows))
	}
	return rows
}

// A file that sets a default explicitly means the same as one without it. The test checks this for the defaults in
// FORMAT.md and for every protocol's defaults.
func TestDocumentedDefaultsAreTheDefaults(t *testing.T) {
	tried := 0
	same := func(base, key, value string) {
		tried++
		if with := parseText(t, withKey(t, base, key, value)); !reflect.DeepEqual(with, parseText(t, base)) {
			t.Errorf("%s\n%s: the default is not %s", base, key, value)
		}
	}
	for _, row := range documented(t) {
		value, literal := strings.CutPrefix(row.standard, "`")
		if !literal || strings.HasPrefix(row.key, "lock.") && row.key != "lock.name" {
			continue
		}
		base := onServersWith(row.key)
		if slices.Contains(aboutReplicas, row.key) {
			base = withKey(t, base, "servers.replicas", "1")
		}
		if row.key == "servers.node-timeout" {
			base = "name: x\nservers: {redis: 3, cluster: on}\nlock: {protocol: set-nx-px}\n"
		}
		same(base, row.key, strings.TrimSuffix(value, "`"))
	}
	for _, d := range locks.Definitions() {
		for _, s := range d.Settings {
			base := minimal[d.Name]
			if mapping, _, nested := strings.Cut(s.Path, "."); nested && mapping != "retry" {
				base = withKey(t, withKey(t, base, "servers.replicas", "1"), "lock."+mapping, "{}")
			}
			if s.Depends == "" {
				same(base, "lock."+s.Path, format.Quoted(s.Form.Text(s.Standard), true))
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d defaults were compared", tried)
	}
}

// onServersWith returns the smallest valid file that a setting can be added to. If only one kind of server has the
// setting, the file uses that kind.
func onServersWith(key string) string {
	for _, b := range backends {
		for _, d := range locks.Definitions() {
			if b.Kind == d.Backend && b.Kind != locks.OnRedis &&
				slices.Contains(b.ownSettings(), strings.TrimPrefix(key, "servers.")) {
				return minimal[d.Name]
			}
		}
	}
	return oneRedis
}

// minimal maps each protocol to its smallest valid file.
var minimal = map[locks.Protocol]string{locks.SetNX: "name: x\nservers: {redis: 1}\nlock: {protocol: setnx}\n",
	locks.SetNXExpire: "name: x\nservers: {redis: 1}\nlock: {protocol: setnx-expire}\n", locks.SetNXPX: oneRedis,
	locks.Fenced: onFenced, locks.Redlock: fiveRedis, locks.Etcd: onEtcd, locks.ZooKeeper: onZooKeeper,
	locks.LeaseObject: onKubernetes, locks.Consul: onConsul,
	locks.Semaphore:   "name: x\nservers: {redis: 1}\nlock: {protocol: semaphore}\n",
	locks.PermitList:  "name: x\nservers: {redis: 1}\nlock: {protocol: permit-list}\n",
	locks.HashCounter: "name: x\nservers: {redis: 1}\nlock: {protocol: hash-counter}\n",
	locks.Fair:        "name: x\nservers: {redis: 1}\nlock: {protocol: fair}\n",
	locks.ReadWrite:   "name: x\nservers: {redis: 1}\nlock: {protocol: read-write}\n"}

// The smallest valid files for the fenced protocol, and for protocols on servers other than Redis.
const (
	onFenced     = "name: x\nservers: {redis: 1}\nlock: {protocol: fenced}\n"
	onEtcd       = "name: x\nservers: {etcd: 3}\nlock: {protocol: etcd}\n"
	onZooKeeper  = "name: x\nservers: {zookeeper: 3}\nlock: {protocol: zookeeper}\n"
	onConsul     = "name: x\nservers: {consul: 3}\nlock: {protocol: consul}\n"
	onKubernetes = "name: x\nservers: {kubernetes: 3}\nlock: {protocol: lease-object}\n"
)

// aboutReplicas lists the settings that need replicas.
var aboutReplicas = []string{"servers.min-replicas-to-write", "servers.min-replicas-max-lag", "servers.semi-sync",
	"servers.semi-sync-timeout", "servers.down-after", "servers.reconfigure-after"}

// FORMAT.md describes some defaults in words, because they depend on other settings or because there is no default.
// This test lists the settings with such defaults. The comment above a group names the test that checks these defaults.
func TestDefaultsInWords(t *testing.T) {
	words := map[string]string{}
	for _, row := range documented(t) {
		if !strings.HasPrefix(row.standard, "`") && !strings.HasPrefix(row.key, "lock.") {
			words[row.key] = row.standard
		}
	}
	for _, d := range locks.Definitions() {
		for _, s := range d.Settings {
			if s.Depends != "" {
				words["lock."+s.Path] = s.Depends
			}
		}
	}
	for _, key := range []string{"name", "servers"} {
		if words[key] != "required" {
			t.Errorf("%s: default %q, want required", key, words[key])
		}
		delete(words, key)
	}
	want := map[string]string{
		// TestExample, TestMinimalFile
		"summary": "none", "source": "none", "network.links": "none", "overrides": "none", "faults": "none",
		"expect": "none", "expect.metrics": "none", "servers.notify-keyspace-events": "none", "work.locks": "none",
		"servers.redis": "none", "servers.etcd": "none", "servers.zookeeper": "none", "servers.kubernetes": "none",
		"servers.consul": "none",
		// TestEveryValue
		"servers.persistence": "see below", "lock.retry": "the keys below",
		"lock.extension.limit": "`none` in the background, 3 in steps",
		"lock.elapsed-check":   "`on` with an extension or `work.check-validity`, else `off`",
		"lock.extension.lease": "TTL", "lock.extension.every": "TTL / 3", "lock.quorum": "N / 2 + 1",
		// TestBoundOfAnEnsembleAllowsForASilentLeader
		"bound": "the lock's TTL, plus the time after which servers replace a silent leader or master: " +
			"with several ZooKeeper members, `sync-limit` times `tick-time`; with Consul, `raft-multiplier` seconds; " +
			"with a Redis Cluster, six times `node-timeout` plus 5s",
		// TestOverridesChangeOnlyWhatTheyName
		"work.start": "the start time that `stagger` gives the client",
		// TestMixDefaults
		"mix.pause": "TTL/100 to 3 × TTL", "mix.jump": "TTL/100 to 3 × TTL", "mix.delay": "TTL/1000 to 3 × TTL",
		"mix.slow-fsync": "TTL/100 to TTL/2", "mix.outage": "TTL/100 to 3 × TTL",
		"mix.downtime": "TTL/100 to 2 × TTL",
		"mix.weights":  "see below", "mix.points": "all", "mix.within": "see below", "mix.without": "none",
		"promise": "see below",
		// TestAdditionsToTheMixAreDrawn
		"mix.with": "none",
	}
	if !reflect.DeepEqual(words, want) {
		t.Errorf("got %v\nwant %v", words, want)
	}
}

func TestBoundOfAnEnsembleAllowsForASilentLeader(t *testing.T) {
	for servers, want := range map[string]time.Duration{"{zookeeper: 1}": 10 * time.Second,
		"{zookeeper: 3}": 20 * time.Second, "{zookeeper: 3, tick-time: 500ms, sync-limit: 2}": 11 * time.Second} {
		if got := parseText(t, withKey(t, onZooKeeper, "servers", servers)).Bound; got != want {
			t.Errorf("%s: %v, want %v", servers, got, want)
		}
	}
	cluster := parseText(t, "name: x\nservers: {redis: 3, cluster: on, node-timeout: 1s}\n"+
		"lock: {protocol: set-nx-px, ttl: 2s}\n")
	if want := 13 * time.Second; cluster.Bound != want {
		t.Errorf("Redis Cluster: %v, want %v", cluster.Bound, want)
	}
}

func TestMinimalFile(t *testing.T) {
	s := parseText(t, oneRedis)
	if s.Summary != "" || s.Source != "" || s.Network.Links != nil || s.Faults != nil || len(s.Expect.Laws) != 0 ||
		s.Expect.Metrics != nil || s.Bound != s.Clients[0].Lock.TTL {
		t.Errorf("%+v", s)
	}
}

// FORMAT.md names every point in a client's code where a fault can strike, and explains how faults are excluded.
// TestReferenceIsMadeFromTheTables checks the tables in FORMAT.md.
func TestFormatDocumentIsComplete(t *testing.T) {
	doc := formatDoc(t)
	var wanted []string
	for _, p := range sim.Points {
		wanted = append(wanted, "`"+string(p)+"`")
	}
	wanted = append(wanted, nemesis.ExclusionUsage)
	for _, w := range wanted {
		if !strings.Contains(doc, w) {
			t.Errorf("FORMAT.md lacks %q", w)
		}
	}
}
