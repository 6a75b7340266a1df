package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// scope says whether a mapping of settings applies to all clients or to one.
type scope bool

const (
	everyone  scope = false
	oneClient scope = true // a mapping inside overrides
)

// lockSettings contains the settings parsed so far from the "lock" mapping. Settings whose defaults depend on other
// settings still have their zero values.
type lockSettings struct {
	config locks.Config
	given  format.Given // keys in the mapping parsed last; keys of nested mappings have names such as "extension.mode"
	stated format.Given // keys in given, or in the settings that these override
}

// copied returns a copy of the settings. Changing the copy does not change l.
func (l lockSettings) copied() lockSettings {
	l.given, l.stated = format.Given{}, maps.Clone(l.stated)
	return l
}

// readLock parses the lock settings in a mapping and stores them in l.
func (f *file) readLock(n ast.Node, name string, l *lockSettings, s scope) {
	l.given = format.Given{}
	fields := f.identity(l, s)
	d := f.definition(n, l, s)
	t := f.lockTable(name, d, l)
	if s == oneClient && d != nil {
		t.absent = slices.Clip(t.absent)
		t.keys = slices.DeleteFunc(slices.Clone(t.keys), func(k locks.Setting) bool {
			why := d.Alike[k.Path]
			if why != "" {
				t.absent = append(t.absent, field{name: k.Path, instead: why})
			}
			return why != ""
		})
	}
	maps.Copy(l.given, mapping(f.Reader, n, name, append(fields, t.fields("")...)))
	maps.Copy(l.stated, l.given)
}

// definition returns the definition of the protocol that a mapping names. The other settings depend on the protocol, so
// definition must be called before they are parsed. It returns nil if the mapping does not name a protocol, or names an
// unknown one.
func (f *file) definition(n ast.Node, l *lockSettings, s scope) *locks.Definition {
	if m, ok := n.(ast.MapNode); ok && s == everyone {
		for i := m.MapRange(); i.Next(); {
			if key, _ := format.ScalarText(i.Key()); key == "protocol" {
				name, _ := format.ScalarText(i.Value())
				if d := f.define(locks.Protocol(name)); d != nil {
					d.Defaults(&l.config)
				}
			}
		}
	}
	return locks.Define(l.config.Protocol)
}

// lockTable returns the settings that protocol d accepts. If d is nil, it returns the settings that any protocol
// accepts.
func (f *file) lockTable(name string, d *locks.Definition, l *lockSettings) table[locks.Config] {
	t := table[locks.Config]{Reader: f.Reader, name: name, keys: locks.Settings(), to: &l.config,
		of:   func(_ *Scenario, c *Client) *locks.Config { return &c.Lock },
		note: func(path string, place format.Place) { l.given[path] = place }}
	if d != nil {
		t.keys, t.absent = d.Settings, foreign(d)
		t.refuse = func(k *locks.Setting, word string) string { return whyNot(d, k.Path, word) }
	}
	return t
}

// foreign returns the settings that only other protocols accept, with the reasons why d does not.
func foreign(d *locks.Definition) (all []field) {
	if known, ok := foreigns.Load(d); ok {
		return known.([]field)
	}
	for _, s := range locks.Settings() {
		if d.Setting(s.Path) == nil {
			all = append(all, field{name: s.Path, instead: whyNot(d, s.Path, "")})
		}
	}
	foreigns.Store(d, all)
	return all
}

// foreigns caches what foreign returns for each definition.
var foreigns sync.Map

// whyNot explains why a protocol does not accept a setting, and what to write instead. If word is not empty, whyNot
// explains why the protocol does not accept this word as the setting's value. It returns "" if no protocol accepts the
// setting or the word.
func whyNot(d *locks.Definition, path, word string) string {
	takers := locks.Taking(path, word)
	what := path
	if word != "" {
		what = word + " as " + path
		path += "." + word
	}
	switch {
	case len(takers) == 0:
		return ""
	case d.Without[path] != "":
		return d.Without[path]
	}
	return fmt.Sprintf("%s is a setting of %s, but the protocol is %s: remove it", what,
		format.Listed(takers, "and"), d.Name)
}

// identity returns the settings that must be the same for all clients of a lock.
func (f *file) identity(l *lockSettings, s scope) []field {
	if s == oneClient {
		return []field{
			{name: "protocol", instead: "all clients use the same protocol: set it in the mapping `lock`"},
			{name: "name", instead: "all clients use the same lock: name it in the mapping `lock`"},
		}
	}
	form := format.Form{Words: f.protocols()}
	name := format.Form{Kind: format.Name}
	return []field{
		{name: "protocol", required: true, sample: string(locks.SetNXPX), read: func(n ast.Node) {
			if v, ok := f.Value(n, &form); ok {
				l.config.Protocol = locks.Protocol(v.Word)
			}
		},
			takes: func(n ast.Node) bool {
				_, ok := f.Value(n, &form)
				return ok
			},
			kind: format.Word, number: wordOf,
			doc: doc{values: form.Values(), standard: "required", meaning: "see Protocols"}},
		{name: "name", read: func(n ast.Node) {
			if name, ok := f.lockName(n); ok {
				l.config.Key = name
			}
		}, doc: doc{values: name.Values(), standard: "`lock`", meaning: "the lock's key on the servers"}},
	}
}

// allLockFields returns the lock settings of all protocols, for the reference documentation and for sweeps.
func (f *file) allLockFields() []field {
	t := f.lockTable("lock", nil, &f.lock)
	fields := t.fields("")
	return append(f.identity(&f.lock, everyone), fields...)
}

// checkLock reports settings in l that contradict each other or do not suit the servers.
func (f *file) checkLock(l *lockSettings) {
	refuse := func(key, format string, args ...any) {
		if place, ok := l.given[key]; ok {
			f.Problem(place, "", format, args...)
		}
	}
	s := &f.scenario.Servers
	for _, d := range locks.Definitions() { // if the protocol is misspelled, report what any protocol refuses
		if named := locks.Define(l.config.Protocol); d.Refused == nil || named != nil && named != d {
			continue
		}
		for _, r := range d.Refused(&l.config, s.masters()) {
			refuse(r.Key, "%s", r.Why)
		}
	}
	for _, n := range l.config.Needs() {
		if n.Version != s.Version && s.masters() > 0 {
			refuse(n.Key, "%s", n.Why)
		}
	}
	if l.config.Abrupt && l.config.Patience == 0 {
		refuse("retry.patience-ends", "without `retry.patience`, no acquire ever gives up: "+
			"set `retry.patience`, or remove `patience-ends`")
	}
	if x := l.config.Extension; x != nil && !x.Background && x.Until != locks.EndsWithLast {
		refuse("extension.until", "`until` says when a background keepalive ends, but with `in: "+
			"steps` there is none: remove `until` or `in`")
	}
	if l.config.ReleaseOnFailure && l.config.Release == locks.ReleaseNothing {
		refuse("release-on-failure", "with `release: nothing`, a client never deletes a key: "+
			"remove `release-on-failure`, or write `release: script`")
	}
	if w := l.config.Wait; w != nil && s.masters() > 0 {
		switch {
		case w.ForReplicas() > s.Replicas:
			refuse("wait", "`wait` needs %s, "+
				"but each master has only %d", text.Count(w.ForReplicas(), "replica"), s.Replicas)
		case w.Fsync == locks.MasterDisk:
			refuse("wait.replicas", "with `fsync: master`, no replica is counted: "+
				"remove `replicas`, or write `fsync: all`")
		}
		if w.Fsync != locks.NoDisks && s.Persistence == store.None {
			refuse("wait.fsync", "without persistence, there is no file to sync: "+
				"remove `fsync`, or set `servers.persistence.append-fsync`")
		}
	}
}

// checkTasks reports an error if a client has several tasks that cannot share its lock. It also reports an error if
// value-in makes tasks share a lock object but there is only one task.
func (f *file) checkTasks(d *locks.Definition, l *lockSettings, w *Work, in format.Given) {
	place, given := in["tasks"]
	switch {
	case !given || w.Tasks < 2:
	case d.Name == locks.FromLibrary:
		f.checkTasksOfLibrary(d, l, place)
	case d.Setting("value-in") == nil:
		f.Problem(place, "", "tasks share one lock object only with %s, but the protocol is %s: remove `tasks`",
			format.Listed(locks.Taking("value-in", ""), "and"), d.Name)
	case l.config.Wake == locks.WakeOnMessage || l.config.Wake == locks.WakeOnMessageTTL:
		f.Problem(place, "", "a client's tasks would share one subscription, "+
			"and each message on it wakes only one task: remove `tasks`, or set `retry.wake` to `delay`")
	}
	if at, stated := l.given["value-in"]; stated && l.config.InObject && w.Tasks < 2 {
		f.Problem(at, "", "only tasks of one client share a lock object: "+
			"set `work.tasks` to 2 or more, or remove `value-in`")
	}
}

// checkTasksOfLibrary checks a client that has several tasks and whose lock comes from a Go library. It reports an
// error if the lock is fair, or if the tasks' requests cannot be distinguished.
func (f *file) checkTasksOfLibrary(d *locks.Definition, l *lockSettings, place format.Place) {
	s := &f.scenario.Servers
	if s.Front() == nil {
		return // reported by checkProtocol
	}
	if _, tells := s.Front().Begin().Caller("").(sim.Tasks); !tells {
		f.Problem(place, "", "the requests of a client's tasks can be told apart only on Redis: remove `tasks`")
	}
	if d.Order(&l.config) > 0 {
		f.Problem(place, "", "fairness is checked only between clients with one task each: "+
			"remove `tasks` or `place-timeout`")
	}
}

// checkWork reports settings in the "work" mapping that contradict each other or do not suit the lock, such as checks
// of a lease that the protocol does not have.
func (f *file) checkWork(l *lockSettings, w *Work, in format.Given) {
	d := locks.Define(l.config.Protocol)
	if d == nil {
		return
	}
	refuse := func(key string, set bool, format string) {
		if place, ok := in[key]; ok && set {
			f.Problem(place, "", format, d.Name)
		}
	}
	if place, ok := in["release-before-write"]; ok && w.ReleaseFirst && (w.Writes == 0 || w.Nested) {
		problem := "the work contains no writes: set `writes` to 1 or more, or remove `release-before-write`"
		if w.Nested {
			problem = "with `nested`, the lock is released after the writes: remove `release-before-write` or `nested`"
		}
		f.Problem(place, "", "%s", problem)
	}
	f.checkTasks(d, l, w, in)
	if x := l.config.Extension; x != nil && x.Until == locks.EndsWithFirst && !w.Nested {
		if place, ok := l.given["extension.until"]; ok {
			f.Problem(place, "", "without `work.nested`, the first release of a hold is also its last: "+
				"set `work.nested`, or remove `until`")
		}
	}
	if !d.Expires {
		refuse("check-validity", w.CheckValidity,
			"with %s, a lock has no validity that a client could check: remove `check-validity`, or use set-nx-px")
		refuse("hold", w.HoldKind == HoldValidity,
			"with %s, a lock has no validity that could end: write `hold: forever`, or use set-nx-px")
	}
	if !d.Renews && d.Setting("extension") == nil {
		refuse("stop-when-lost", !w.StopWhenLost, "with %s, nothing tells a client that its lock is lost: "+
			"remove `stop-when-lost`, or use set-nx-px")
	}
}
