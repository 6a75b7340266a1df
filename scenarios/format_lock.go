package scenarios

import (
	"maps"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// scope says whom a mapping of settings is for.
type scope bool

const (
	everyone  scope = false
	oneClient scope = true // under overrides
)

// lockSettings are the keys under lock as far as they have been read. What depends on other keys is still zero.
type lockSettings struct {
	config locks.Config
	given  given // also those of the extension, as "extension.mode"
}

// copied gives settings that can be changed without changing l.
func (l lockSettings) copied() lockSettings {
	if l.config.Extension != nil {
		x := *l.config.Extension
		l.config.Extension = &x
	}
	l.given = given{}
	return l
}

// readLock reads the keys of a mapping over what l has already.
func (f *file) readLock(n ast.Node, name string, l *lockSettings, s scope) {
	l.given = given{}
	maps.Copy(l.given, f.mapping(n, name, f.lockFields(l, name, s)))
}

// redlockOnly are the keys that say how several servers are asked.
var redlockOnly = []string{"contact", "order", "quorum", "elapsed-check", "drift-allowance", "clock", "release-on-failure", "value"}

// oneProtocol are keys that only one protocol has; redisOnly those of locks on Redis.
var (
	oneProtocol = []struct {
		protocol locks.Protocol
		keys     []string
	}{
		{locks.SetNXPX, []string{"expiry"}},
		{locks.Fenced, []string{"read-token"}},
		{locks.Redlock, redlockOnly},
		{locks.Etcd, []string{"recheck", "count-from", "compare-revision"}},
		{locks.ZooKeeper, []string{"watch", "token", "names", "check-session", "listener", "shared"}},
	}
	redisOnly = []string{"release", "extension", "wait"}
)

func (f *file) lockFields(l *lockSettings, name string, s scope) []field {
	c := &l.config
	return append(f.identity(c, s), []field{
		{name: "ttl", read: into(&c.TTL, f.millis)},
		{name: "retry", read: func(n ast.Node) {
			f.mapping(n, name+".retry", []field{
				{name: "delay", read: into(&c.Retry, f.pause)},
				{name: "patience", read: into(&c.Patience, orNone(f.positive))},
			})
		}},
		{name: "release", read: into(&c.Release, choose(f.reader,
			words(locks.ReleaseScript, locks.ReleaseDel, locks.ReleaseGetThenDel, locks.ReleaseCAD, locks.ReleaseDelex)))},
		{name: "timeout", read: into(&c.Timeout, f.period)},
		{name: "extension", read: func(n ast.Node) { f.readExtension(n, name+".extension", l) }},
		{name: "reentrant", read: into(&c.Reentry, choose(f.reader,
			words(locks.CountedReentry, locks.UncountedReentry, locks.OverwritingReentry)))},
		{name: "expiry", read: into(&c.Expiry, choose(f.reader, words(locks.RelativeExpiry, locks.AbsoluteExpiry)))},
		{name: "read-token", read: into(&c.TokenRead, choose(f.reader, words(locks.TokenInStep, locks.TokenLater)))},
		{name: "wait", read: func(n ast.Node) { f.readWait(n, name+".wait", c) }},
		{name: "contact", read: into(&c.Contact, choose(f.reader, words(locks.Sequential, locks.Parallel)))},
		{name: "order", read: into(&c.Order, choose(f.reader, words(locks.Listed, locks.Rotated)))},
		{name: "quorum", read: into(&c.Quorum, f.whole(1, maxServers))},
		{name: "elapsed-check", read: into(&c.ElapsedCheck, f.onOff)},
		{name: "drift-allowance", read: into(&c.Drift, f.allowance)},
		{name: "clock", read: into(&c.Clock, choose(f.reader,
			[]choice[sim.ClockKind]{{"monotonic", sim.Monotonic}, {"wall", sim.Wall}}))},
		{name: "release-on-failure", read: into(&c.ReleaseOnFailure, f.onOff)},
		{name: "value", read: into(&c.TokenScope, choose(f.reader, words(locks.PerRequest, locks.PerClient)))},
		{name: "recheck", read: into(&c.Recheck, f.onOff)},
		{name: "count-from", read: into(&c.Count, choose(f.reader, words(locks.FromSending, locks.FromReceipt)))},
		{name: "compare-revision", read: into(&c.CompareRevision, f.onOff)},
		{name: "watch", read: into(&c.Watch, choose(f.reader, words(locks.Predecessor, locks.Lowest)))},
		{name: "token", read: into(&c.TokenFrom, choose(f.reader, words(locks.OwnNode, locks.ParentNode)))},
		{name: "names", read: into(&c.Names, choose(f.reader, words(locks.MarkedNames, locks.BareNames)))},
		{name: "check-session", read: into(&c.CheckSession, f.onOff)},
		{name: "listener", read: into(&c.Listener, f.onOff)},
		{name: "shared", read: into(&c.Shared, f.onOff)},
	}...)
}

// identity are the keys that are the same for all clients of a lock.
func (f *file) identity(c *locks.Config, s scope) []field {
	if s == oneClient {
		return []field{
			{name: "protocol", instead: "all clients use the same protocol: set it under lock"},
			{name: "name", instead: "all clients use the same lock: name it under lock"},
		}
	}
	return []field{
		{name: "protocol", required: true, read: into(&c.Protocol, choose(f.reader,
			words(locks.SetNX, locks.SetNXExpire, locks.SetNXPX, locks.Fenced, locks.Redlock, locks.Etcd, locks.ZooKeeper)))},
		{name: "name", read: func(n ast.Node) {
			if name, ok := f.key(n); ok {
				c.Key = history.Lock(name)
			}
		}},
	}
}

// readExtension reads none, or the settings of an extension over what an override finds in the lock's.
func (f *file) readExtension(n ast.Node, name string, l *lockSettings) {
	if text, ok := scalarText(n); ok && text == "none" {
		l.config.Extension = nil
		return
	}
	if l.config.Extension == nil {
		l.config.Extension = newExtension()
	}
	x := l.config.Extension
	keys := f.mapping(n, name, []field{
		{name: "mode", read: into(&x.Mode, choose(f.reader,
			words(locks.ExtendChecked, locks.ExtendCAS, locks.ExtendUnchecked, locks.ExtendAnyAnswer, locks.ExtendIgnoreElapsed,
				locks.ExtendOrAcquire, locks.ExtendExpire, locks.ExtendRelease, locks.ExtendReacquire)))},
		{name: "every", read: into(&x.Every, f.period)},
		{name: "limit", read: into(&x.Limit, orNone(f.whole(1, maxCount)))},
		{name: "in", read: into(&x.Background, choose(f.reader, []choice[bool]{{"background", true}, {"steps", false}}))},
	})
	for key, place := range keys {
		l.given["extension."+key] = place
	}
}

// readWait reads none, or the settings of WAIT over what an override finds in the lock's.
func (f *file) readWait(n ast.Node, name string, c *locks.Config) {
	if text, ok := scalarText(n); ok && text == "none" {
		c.Wait = nil
		return
	}
	w := newWait()
	if c.Wait != nil {
		*w = *c.Wait
	}
	c.Wait = w
	f.mapping(n, name, []field{
		{name: "replicas", read: into(&w.Replicas, f.whole(1, maxReplicas))},
		{name: "timeout", read: into(&w.Timeout, f.duration)},
		{name: "obey", read: into(&w.Obey, f.onOff)},
		{name: "on-release", read: into(&w.Release, f.onOff)},
		{name: "same-connection", read: into(&w.SameConnection, f.onOff)},
	})
}

// orNone reads the word none as zero, and what else there is with read.
func orNone[T any](read func(ast.Node) (T, bool)) func(ast.Node) (T, bool) {
	return func(n ast.Node) (T, bool) {
		if text, ok := scalarText(n); ok && text == "none" {
			var zero T
			return zero, true
		}
		return read(n)
	}
}

// checkLock checks the given keys of l against the protocol and the number of servers.
func (f *file) checkLock(l *lockSettings) {
	p := l.config.Protocol
	if p == "" {
		return // missing or wrong, and told so
	}
	refuse := func(key, format string, args ...any) {
		if place, ok := l.given[key]; ok {
			f.problem(place, "", format, args...)
		}
	}
	for _, only := range oneProtocol {
		for _, key := range only.keys {
			if p != only.protocol {
				refuse(key, "%s is a setting of %s, but the protocol is %s", key, only.protocol, p)
			}
		}
	}
	if l.config.Reentry == locks.OverwritingReentry && (p.Leased() || p == locks.Redlock || p == locks.SetNX) {
		refuse("reentrant", "overwrite is a setting of a lock with an expiry on one Redis, but the protocol is %s", p)
	}
	switch {
	case p.Leased():
		for _, key := range redisOnly {
			refuse(key, "%s is a setting of locks on Redis, but the protocol is %s", key, p)
		}
		if p == locks.Etcd && (l.config.TTL%time.Second != 0 || l.config.TTL < 2*time.Second) {
			refuse("ttl", "etcd counts leases in whole seconds, at least 2s")
		}
	case p == locks.Redlock:
		refuse("wait", "wait is a setting of a lock on one Redis, but the protocol is redlock")
		refuse("release", "redlock always releases by script, on every server: leave release out")
		if n := f.scenario.Servers.Redis; n > 0 && l.config.Quorum > n {
			refuse("quorum", "the quorum is %d, but there are only %d servers", l.config.Quorum, n)
		}
	}
	x := l.config.Extension
	switch {
	case x == nil || p.Leased():
	case p == locks.SetNX:
		refuse("extension", "setnx sets no expiry that could be extended")
	case p == locks.Redlock && x.Mode == locks.ExtendCAS:
		refuse("extension.mode", "cas is an extension of one Redis, but the protocol is %s", p)
	case p != locks.Redlock && (x.Mode == locks.ExtendUnchecked || x.Mode == locks.ExtendReacquire):
		refuse("extension.mode", "%s is an extension of redlock, but the protocol is %s", x.Mode, p)
	}
}
