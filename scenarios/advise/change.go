package advise

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// Change is one change to a scenario.
type Change struct {
	Key, Value string         // as in FORMAT.md
	Protocol   locks.Protocol // the new protocol, if the change switches to another protocol
	edits      []edit
	restart    time.Duration // minimum time that a crashed server stays away; 0: as stated in the faults
}

// circumstances says, for each key that advice leaves alone or changes only in certain cases, why this is so. An entry
// can also be about a single value of a key. Advice may change all other keys.
var circumstances = map[string]string{
	"clients":                    "who uses the lock",
	"network.delay":              "it describes what the lock runs on",
	"network.tail":               "it describes what the lock runs on",
	"servers.fsync":              "it describes what the lock runs on",
	"servers.persistence":        "it contains append-fsync, which is changed instead",
	"servers.version":            "it describes what the lock runs on",
	"lock.protocol":              "changed together with the settings that depend on it",
	"lock.reentrant":             "changed only if work.nested acquires the lock again",
	"lock.extension.until":       "changed only if the renewal ends too early or never",
	"lock.release.nothing":       "no release",
	"lock.shared":                "it describes what the clients ask for: readers do not exclude each other",
	"work.stagger":               "what the clients do",
	"work.cycles":                "what the clients do",
	"work.tasks":                 "what the clients do",
	"work.take":                  "what the clients do",
	"work.think":                 "what the clients do",
	"work.writes":                "what the clients do",
	"work.compute":               "what the clients do",
	"work.hold":                  "what the clients do",
	"work.nested":                "what the clients do",
	"work.release-before-write":  "changed only if the clients release the lock before they write",
	"resource.timeout":           "what the clients do",
	"resource.writes.idempotent": "it describes what the clients do: all run the same job",
	"limit":                      "how long one looks",
	"bound":                      "it describes what is required of the lock",
	"mix.within":                 "what strikes",
}

// offered reports whether advice may change the key with the given path. If the clients are programs, keys whose values
// are not passed to them are not offered. A few keys are offered only if they matter to the scenario's clients. The
// other keys in circumstances, and numbers of members, are not offered.
func (b *subject) offered(path string) bool {
	ofClients := strings.HasPrefix(path, "lock.") || strings.HasPrefix(path, "work.")
	if ofClients && !b.scenario.Takes(path) {
		return false
	}
	switch path {
	case "work.release-before-write":
		return slices.ContainsFunc(b.scenario.Clients, func(c scenarios.Client) bool { return c.Work.ReleaseFirst })
	case "lock.extension.until":
		return slices.ContainsFunc(b.scenario.Clients, func(c scenarios.Client) bool {
			return c.Lock.Extension != nil && c.Lock.Extension.Until != locks.EndsWithLast
		})
	case "lock.reentrant":
		return slices.ContainsFunc(b.scenario.Clients, func(c scenarios.Client) bool { return c.Work.Nested })
	}
	_, circumstance := circumstances[path]
	return !circumstance && !isMembers(path)
}

// isMembers reports whether a key sets the number of members in a cluster. Advice changes this number only when it
// changes the protocol, or to grow a cluster from one member to three.
func isMembers(path string) bool {
	kind, ok := strings.CutPrefix(path, "servers.")
	return ok && scenarios.OneLog(locks.Backend(kind))
}

// changes returns the individual changes that are possible for the lock, in the order of FORMAT.md. Some of them are
// valid only in combination with another change.
func (b *subject) changes() (list []Change) {
	for _, d := range locks.Definitions() {
		if d != b.definition && !b.scenario.OfPrograms() {
			list = append(list, b.protocol(d))
		}
	}
	variables, _ := scenarios.Variables()
	for _, v := range variables {
		if !b.offered(v.Path) || v.Value == nil {
			continue
		}
		form, now, ok := b.inForce(v)
		if !ok {
			continue
		}
		if _, stated := b.doc.Get(v.Path); stated && form.Kind != format.Word {
			list = append(list, Change{Key: v.Path, Value: "the default",
				edits: []edit{{Path: v.Path, Remove: true}}})
		}
		for _, text := range alternatives(&form, now) {
			if form.Kind == format.Mapping {
				list = append(list, b.group(v.Path, text)...)
				continue
			}
			if _, circumstance := circumstances[v.Path+"."+text]; !circumstance {
				list = append(list, b.set(v.Path, text))
			}
		}
	}
	if targets := b.scenario.Targets(); len(targets.Consensus) == 1 {
		list = append(list, b.set("servers."+string(b.scenario.Servers.Backend), strconv.Itoa(members)))
	}
	if d := b.restartDelay(); d > 0 {
		list = append(list, Change{Key: "restart delay", Value: format.DurationText(int64(d)), restart: d})
	}
	return list
}

// inForce returns a setting's format and its current value for the first client. ok is false if the lock does not have
// the setting.
func (b *subject) inForce(v scenarios.Variable) (form format.Form, now format.Value, ok bool) {
	c := &b.scenario.Clients[0]
	name, of := strings.CutPrefix(v.Path, "lock.")
	if !of {
		return v.Form, v.Value(b.scenario, c), true
	}
	s := b.definition.Setting(name)
	if s == nil || b.unused(name) {
		return form, now, false
	}
	return s.Form, s.Get(&c.Lock), true
}

// unused reports whether a key belongs to a mapping that is switched off by a word such as none.
func (b *subject) unused(name string) bool {
	group, _, nested := strings.Cut(name, ".")
	s := b.definition.Setting(group)
	return nested && len(s.Form.Words) > 0 && s.Get(&b.scenario.Clients[0].Lock).Word != ""
}

// set returns a change that sets a key to the same value for all clients.
func (b *subject) set(path, value string) Change {
	c := Change{Key: path, Value: value, edits: []edit{{Path: path, Value: value}}}
	if ttl, err := nemesis.ParseDuration(value); path == "lock.ttl" && err == nil {
		// If the lease becomes longer, the run must become longer, too. Otherwise, the effects of the longer lease
		// could not be seen.
		if limit := b.limitFor(ttl); limit > b.scenario.Limit {
			c.edits = append(c.edits, edit{Path: "limit", Value: format.DurationText(int64(limit))})
		}
	}
	for _, client := range b.doc.Keys("overrides") {
		if own := "overrides." + client + "." + path; b.has(own) {
			c.edits = append(c.edits, edit{Path: own, Remove: true})
		}
	}
	return c
}

// has reports whether the document contains a path.
func (b *subject) has(path string) bool {
	_, scalar := b.doc.Get(path)
	return scalar || len(b.doc.Keys(path)) > 0
}

// group returns changes that switch an optional mapping on or off. If text is not empty, it is the word that switches
// the mapping off. Otherwise, the mapping is switched on with its keys' default values.
func (b *subject) group(path, text string) []Change {
	if text != "" {
		return []Change{b.set(path, text)}
	}
	for i := range b.definition.Settings {
		if s := &b.definition.Settings[i]; strings.HasPrefix("lock."+s.Path, path+".") && s.Depends == "" {
			return []Change{b.set("lock."+s.Path, s.Form.Text(s.Standard))}
		}
	}
	return nil
}

// alternatives returns values for a key other than its current one. These are the words that the key accepts and, for a
// number, some smaller and larger numbers. If the key can also be a mapping, the list may contain "", which stands for
// the mapping.
func alternatives(f *format.Form, now format.Value) (list []string) {
	add := func(v format.Value) {
		text := f.Text(v)
		if v != now && (text != "" || f.Kind == format.Mapping) && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, w := range f.Words {
		add(format.Value{Word: w})
	}
	switch f.Kind {
	case format.Mapping:
		if now.Word != "" {
			add(format.Value{})
		}
	case format.Count:
		for _, n := range []int64{now.N - 1, now.N + 1, now.N + 2} {
			if n >= f.Least && n <= f.Most && now.Word == "" {
				add(format.Value{N: n})
			}
		}
		if now.Word != "" {
			add(format.Value{N: max(f.Least, 3)})
		}
	case format.Duration:
		for _, n := range []int64{now.N / 3, 3 * now.N} {
			if now.Word == "" && n > 0 {
				if n > int64(time.Millisecond) {
					n -= n % int64(time.Millisecond)
				}
				add(format.Value{N: f.Nearest(n)})
			}
		}
	case format.Delay:
		if now.To > 0 {
			add(format.Value{From: now.From, To: 5 * now.From})
			add(format.Value{From: now.From, To: 10 * now.To})
		}
	case format.Allowance:
		add(format.Value{N: documented, From: int64(2 * time.Millisecond)})
		add(format.Value{N: 10 * documented, From: int64(2 * time.Millisecond)})
	}
	return list
}

// documented is the drift allowance in the Redlock documentation's examples: 1%, in parts per million.
const documented = 10_000

// restartDelay returns how long a crashed server must stay down, so that every lease that it may have forgotten has
// ended: for the longest TTL, plus a tenth for clock differences. If no fault restarts a server sooner than that,
// restartDelay returns zero.
func (b *subject) restartDelay() time.Duration {
	ttl := longestTTL(b.scenario)
	away := (ttl + ttl/10).Truncate(time.Millisecond) + time.Millisecond
	if ttl >= time.Second {
		away = (ttl + ttl/10 + time.Second).Truncate(time.Second)
	}
	for _, p := range b.plans {
		for _, f := range p.Faults {
			if f.Restart > 0 && f.Restart < away {
				return away
			}
		}
	}
	return 0
}

// longestTTL returns the longest TTL that any client uses to acquire or extend the lock.
func longestTTL(s *scenarios.Scenario) (ttl time.Duration) {
	for i := range s.Clients {
		ttl = max(ttl, s.Clients[i].Lock.TTL)
		if x := s.Clients[i].Lock.Extension; x != nil {
			ttl = max(ttl, x.TTL)
		}
	}
	return ttl
}

// protocol returns a change to another protocol. The change adds the servers that the protocol needs, and removes the
// keys that the protocol does not accept.
func (b *subject) protocol(d *locks.Definition) Change {
	c := Change{Key: "lock.protocol", Value: string(d.Name), Protocol: d.Name,
		edits: []edit{{Path: "lock.protocol", Value: string(d.Name)}}}
	remove := func(path string) {
		if b.has(path) {
			c.edits = append(c.edits, edit{Path: path, Remove: true})
		}
	}
	sections := []string{""}
	for _, client := range b.doc.Keys("overrides") {
		sections = append(sections, "overrides."+client+".")
	}
	for _, under := range sections {
		for _, s := range locks.Settings() {
			path := under + "lock." + s.Path
			text, stated := b.doc.Get(path)
			takes := d.Setting(s.Path)
			switch {
			case takes == nil:
				remove(path)
			// a timeout that is right for one kind of server may be too short for another
			case s.Path == "timeout" && d.Backend != b.scenario.Servers.Backend:
				remove(path)
			case stated && takes.Form.Kind == format.Word && !slices.Contains(takes.Form.Words, text):
				remove(path)
			// In a protocol without expiry, the TTL only limits how long a client waits.
			case stated && s.Path == "ttl" && under != "" && !d.Expires:
				remove(path)
			case stated && s.Path == "ttl":
				ttl, err := nemesis.ParseDuration(text)
				if n := takes.Form.Nearest(int64(ttl)); err == nil && n != int64(ttl) {
					c.edits = append(c.edits, edit{Path: path, Value: format.DurationText(n)})
				}
			}
		}
		if !d.Expires {
			remove(under + "work.check-validity")
			remove(under + "work.stop-when-lost")
		}
	}
	if !d.Tokens {
		remove("resource.fencing")
	}
	return b.servers(c, d)
}

// The minimum number of servers after a change of protocol. For Redlock, it is the number that its documentation
// recommends. For a cluster, it is the smallest number with which the cluster tolerates the loss of one member.
const (
	redlockServers = 5
	members        = 3
)

// servers adds to change c the servers that protocol d needs.
func (b *subject) servers(c Change, d *locks.Definition) Change {
	set := func(path string, n int) {
		c.edits = append(c.edits, edit{Path: "servers." + path, Value: strconv.Itoa(n)})
	}
	asked := b.asked()
	if d.Backend != b.scenario.Servers.Backend {
		for _, key := range b.doc.Keys("servers") {
			if key != "fsync" { // all kinds of servers have fsync
				c.edits = append(c.edits, edit{Path: "servers." + key, Remove: true})
			}
		}
		// These faults are possible only on some kinds of servers.
		for _, path := range []string{"mix.slow-fsync", "mix.with"} {
			if b.has(path) || len(b.doc.List(path)) > 0 {
				c.edits = append(c.edits, edit{Path: path, Remove: true})
			}
		}
	}
	if d.Several && b.scenario.Servers.Cluster {
		c.edits = append(c.edits, b.splitCluster()...)
	}
	n := 1
	switch {
	case scenarios.OneLog(d.Backend):
		n = min(max(members, asked), 9)
	case d.Several:
		n = max(redlockServers, asked)
	}
	if d.Backend != b.scenario.Servers.Backend || n != asked {
		set(string(d.Backend), n)
	}
	for _, link := range b.doc.Keys("network.links") {
		c.edits = append(c.edits, edit{Path: "network.links." + link, Remove: true})
	}
	return c
}

// splitCluster returns edits that turn the masters of a Redis Cluster into independent servers without replicas.
func (b *subject) splitCluster() (edits []edit) {
	paths := []string{"lock.wait"}
	for _, client := range b.doc.Keys("overrides") {
		paths = append(paths, "overrides."+client+".lock.wait")
	}
	for _, key := range []string{"cluster", "node-timeout", "replicas", "min-replicas-to-write", "min-replicas-max-lag",
		"semi-sync", "semi-sync-timeout"} {
		paths = append(paths, "servers."+key)
	}
	for _, path := range paths {
		if b.has(path) {
			edits = append(edits, edit{Path: path, Remove: true})
		}
	}
	return edits
}

// asked returns the number of servers to which a client sends its requests.
func (b *subject) asked() int { return b.scenario.Servers.N }
