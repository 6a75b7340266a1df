package locks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
	rpc "github.com/fencepost-sim/fencepost/sim/etcd"
)

// LeaseObject is Kubernetes' leader election. A record names the leader, which renews it by compare-and-swap (client-go
// v0.37.2, tools/leaderelection/leaderelection.go).
const LeaseObject Protocol = "lease-object"

func init() {
	Register(&Definition{
		Name: LeaseObject, Place: 8, Service: history.Kubernetes,
		Text: "Kubernetes' leader election: a record of who leads, renewed by compare-and-swap; " +
			"other clients measure the lease from the time at which they saw the record change; " +
			"`leaseTransitions` is the fencing token",
		Backend: OnKubernetes, Several: true, Expires: true, Renews: true, Tokens: true, Leaves: true,
		Settings: slices.Concat([]Setting{
			ttlKey.With(func(f *format.Form) { f.Least, f.Step = int64(time.Second), int64(time.Second) }).
				Standing(format.Value{N: int64(15 * time.Second)}),
			retryKey, retryPatience, timeoutKey.Standing(format.Value{N: int64(5 * time.Second)}),
			format.Only(reentrantKey, CountedReentry, UncountedReentry),
			format.Only(valueKey, PerAcquire, PerClient, Fixed).Standing(format.Value{Word: string(PerAcquire)}),
		}, ownSettings(leaseObjectKeys...)),
		Without: withoutLeaseObject(),
		make: func(r requester) protocol {
			return &leaseObject{requester: r, own: ownOf[leaseObjectConfig](r.config)}
		},
		Measures: func(c *Config) []history.Measure {
			list := []history.Measure{history.StopWhenLost}
			if c.TokenScope == PerAcquire {
				list = append(list, history.OwnValue)
			}
			own := ownOf[leaseObjectConfig](c)
			if c.TokenScope == PerAcquire && own.version == comparedVersion {
				list = append(list, history.GrantToken)
			}
			if own.observe == sightOfChange && own.duration == recordedDuration {
				list = append(list, history.SeenLease)
			}
			if own.renewDeadline > 0 && c.TTL > own.renewDeadline+own.period+c.Timeout {
				list = append(list, history.LongLease)
			}
			if own.release == leavesRecord {
				list = append(list, history.StopFirst)
			}
			if own.version == comparedVersion {
				list = append(list, history.OwnerCheck)
			}
			return list
		},
		Refused: refusedOfLeaseObject,
		complete: func(c *Config, _ int) {
			period := ownOf[leaseObjectConfig](c).period
			c.Retry = sim.Delay{Lo: period, Hi: period + jittered(period)}
		},
		badName: badObjectName,
	})
}

// leaseObjectConfig contains the settings that only this protocol has, with Kubernetes' names and defaults.
type leaseObjectConfig struct {
	renewDeadline time.Duration  // a leader that could not renew for this time gives up; 0: never
	period        time.Duration  // time between two attempts
	release       electionEnd    // default off
	observe       observation    // default change
	duration      durationOf     // default recorded
	version       versionInWrite // default compared
}

// electionEnd determines what a leader does with the record when it stops (LeaderElectionConfig.ReleaseOnCancel).
type electionEnd string

const (
	leavesRecord electionEnd = "off"
	// The leader reads the record, removes the holder and writes it back, even if another client has become the leader.
	// It compares its identity with the holder it saw earlier, not the one it has just read (client-go v0.34 and
	// later).
	clearsRecord electionEnd = "on"
	// The leader writes the record only if its version is still the one the leader knows (client-go v0.32).
	clearsOwn electionEnd = "unless-changed"
)

// observation determines when a candidate starts measuring another client's lease.
type observation string

const (
	sightOfChange observation = "change" // the time at which the candidate saw the record change, as in client-go
	// the candidate measures the lease from the time in the record, which comes from the leader's wall clock
	renewTime observation = "renew-time"
)

// durationOf determines how long a candidate assumes another client's lease lasts.
type durationOf string

const (
	recordedDuration durationOf = "recorded" // the duration in the record, as in client-go
	// the candidate assumes the TTL that it uses itself (client-go before v0.27; kubernetes 47671)
	ownDuration durationOf = "own"
)

// versionInWrite determines whether an update includes the version of the record it replaces.
type versionInWrite string

const (
	comparedVersion versionInWrite = "compared"
	// an update does not include a version; the API server rejects such updates to Lease objects, but not to ConfigMaps
	anyVersion versionInWrite = "any"
)

var leaseObjectKeys = []format.Key[leaseObjectConfig]{
	format.Positive("renew-deadline", func(c *leaseObjectConfig) *time.Duration { return &c.renewDeadline },
		10*time.Second,
		"how long a leader tries to renew before it gives up; "+
			"client-go requires that this is less than the TTL, its lease duration", "none"),
	format.Positive("retry-period", func(c *leaseObjectConfig) *time.Duration { return &c.period }, 2*time.Second,
		"time between two attempts to renew; "+
			"a candidate waits for this time plus a random time of up to 1.2 times as long").Recurring(),
	format.Choice("release-on-cancel", func(c *leaseObjectConfig) *electionEnd { return &c.release },
		"what a leader does with the record when it stops or could not renew. "+
			"`off`: nothing, so that others wait for the lease to end; `on`: it writes the record without a holder, "+
			"even if another client leads by then (client-go from v0.34 on); "+
			"`unless-changed`: it does so only if nobody has written since (v0.32)",
		format.Options(leavesRecord, clearsRecord, clearsOwn)...),
	format.Choice("count-lease-from", func(c *leaseObjectConfig) *observation { return &c.observe },
		"the time from which a candidate measures another client's lease. "+
			"`change`: when it saw the record change, on its monotonic clock, as in client-go; "+
			"`renew-time`: the time in the record, on its wall clock",
		format.Options(sightOfChange, renewTime)...).OnWall(string(renewTime)),
	format.Choice("lease-duration", func(c *leaseObjectConfig) *durationOf { return &c.duration },
		"how long a candidate waits for another client's lease to end. "+
			"`recorded`: for the duration in the record; "+
			"`own`: for the candidate's own TTL (client-go before v0.27, kubernetes 47671)",
		format.Options(recordedDuration, ownDuration)...),
	format.Choice("resource-version", func(c *leaseObjectConfig) *versionInWrite { return &c.version },
		"`compared`: an update fails unless the record still has the version that the client knows; "+
			"`any`: an update replaces any version, "+
			"which the API server permits for a ConfigMap but not for a Lease object",
		format.Options(comparedVersion, anyVersion)...),
}

// A candidate waits for the retry period plus a random time. jitterFactor limits the random time to a multiple of the
// period (leaderelection.JitterFactor).
const jitterFactor = 1.2

func jittered(period time.Duration) time.Duration {
	return time.Duration(jitterFactor * float64(period))
}

// withoutLeaseObject explains, for each setting that only other locks have, why this lock does not accept it.
func withoutLeaseObject() map[string]string {
	all := withoutRedis(LeaseObject, "record")
	all["release"] = "a leader of lease-object either clears the record or leaves it: set `release-on-cancel`"
	all["retry.delay"] = "a client of lease-object retries after its own period: set `retry-period`"
	all["retry.count"] = "a client of lease-object tries until it leads: remove `count`, or set `patience`"
	all["value.per-request"] = "a client of lease-object has one identity for all attempts of an election: " +
		"use per-acquire"
	return all
}

// refusedOfLeaseObject returns the combinations of settings that client-go rejects (NewLeaderElector).
func refusedOfLeaseObject(c *Config, _ int) (list []Refusal) {
	if c.Protocol != LeaseObject {
		return nil
	}
	o := ownOf[leaseObjectConfig](c)
	if o.renewDeadline == 0 {
		return nil
	}
	if c.TTL <= o.renewDeadline {
		why := fmt.Sprintf("the TTL of %v must be greater than the renew deadline of %v, as client-go requires", c.TTL,
			o.renewDeadline)
		list = append(list, Refusal{"ttl", why}, Refusal{"renew-deadline", why})
	}
	if o.renewDeadline <= jittered(o.period) {
		why := fmt.Sprintf("the renew deadline of %v must be greater than 1.2 times the retry period of %v, "+
			"as client-go requires", o.renewDeadline, o.period)
		list = append(list, Refusal{"renew-deadline", why}, Refusal{"retry-period", why})
	}
	return list
}

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// badObjectName explains why a lock's name is not allowed for a Kubernetes object (RFC 1123 subdomain), and suggests
// another name.
func badObjectName(name history.Lock) (problem, right string) {
	if objectName.MatchString(string(name)) {
		return "", ""
	}
	problem = fmt.Sprintf("%q cannot be the name of a Kubernetes object: "+
		"use only lower-case letters, digits, - and ., with a letter or digit at each end", name)
	right = strings.Map(func(r rune) rune {
		if r == '_' || r == ':' || r == '/' {
			return '-'
		}
		return r
	}, strings.ToLower(string(name)))
	if right = strings.Trim(right, "-."); !objectName.MatchString(right) {
		return problem + ": write a name such as lock", ""
	}
	return problem, right
}

// leaseObject elects a leader the way client-go does. It sends its requests to a node's etcd member, just as the API
// server on that node would. An update is a transaction that depends on the key's revision.
type leaseObject struct {
	requester
	own leaseObjectConfig
	now *election
}

// election is the state of one LeaderElector. A client creates a new one for each acquire.
type election struct {
	own      leaseObjectConfig
	config   *Config
	attempt  history.Attempt
	identity string
	observed rpc.LeaseSpec
	version  int64         // revision of the record that the client last read or wrote; 0: none
	seen     time.Duration // when the client last saw the record change, on its monotonic clock
	requests etcdCaller    // caller for the candidate and for a release
	renewals etcdCaller    // caller for the leader's renewals
	stopped  sim.Signal    // raised when the client no longer leads or could not renew
	lost     sim.Signal    // raised to notify the client
}

// Acquire keeps trying until the client is the leader.
func (l *leaseObject) Acquire(env sim.Env) (*Hold, error) {
	l.now = &election{own: l.own, config: l.config, requests: etcdCaller{config: l.config},
		renewals: etcdCaller{config: l.config, conn: etcdKeepalives}}
	return l.retry(env, l.try, sleep)
}

// try makes one attempt. It returns nil if the client is not the leader afterwards.
func (l *leaseObject) try(env sim.Env) *Hold {
	h, e := &Hold{own: l.now}, l.now
	e.attempt, e.identity = l.next(env)
	if l.config.TokenScope != Fixed {
		e.identity = string(env.Name()) + "_" + e.identity
	}
	h.Attempt = e.attempt
	env.Point(sim.AcquireStart)
	h.Grant.Since = env.Mark()
	led := e.tryAcquireOrRenew(env, &e.requests, sim.Forever)
	l.library.counted(!led && e.isTaken(env))
	if !led {
		return nil
	}
	env.Point(sim.QuorumReached)
	h.Token = history.Token(e.observed.LeaseTransitions + 1) // the number of transitions is 0 for the first leader
	h.Grant.Granted, h.Grant.Counted = env.Mark(), l.config.Servers
	h.Grant.Until = sim.Deadline{Clock: sim.Monotonic, At: l.own.givesUpAt(env)}
	h.Ends = []*sim.Signal{&e.lost}
	l.library.keep(h)
	env.Go("renewal", func(env sim.Env) { e.renew(env, func() { l.renewed(env, h) }) })
	env.Point(sim.ValidityChecked)
	return h
}

// renewed updates a hold after its lease has been renewed. The next renewal begins one renewal period later.
func (l *leaseObject) renewed(env sim.Env, h *Hold) {
	until := l.own.givesUpAt(env)
	if until != sim.Forever {
		until += l.own.period
	}
	l.library.prolonged(env, sim.Deadline{Clock: sim.Monotonic, At: until}, func(x *Hold) bool { return x == h })
}

// Extend does nothing, because the leader renews in the background.
func (l *leaseObject) Extend(sim.Env, *Hold) error { return nil }

// Release ends the leader's term. It does not change the record, unless the client is configured to clear it.
func (l *leaseObject) Release(env sim.Env, h *Hold) Answer {
	e := h.own.(*election)
	l.library.drop(h)
	if e.stopped.Raised() {
		return Denied
	}
	e.stopped.Raise()
	a := e.release(env, &e.requests)
	if a == Denied && e.own.release != clearsRecord {
		h.Said = "conflict: the record had changed"
	}
	return a
}

// Close does nothing.
func (l *leaseObject) Close(sim.Env) {}

// isTaken reports whether another client is the leader, according to the record that this client last saw. It returns
// false if this client wrote that record itself.
func (e *election) isTaken(env sim.Env) bool {
	holder := e.observed.HolderIdentity
	return holder != "" && !strings.HasPrefix(holder, string(env.Name())+"_")
}

// leads reports whether the client was the leader when it last saw the record.
func (e *election) leads() bool { return e.observed.HolderIdentity == e.identity }

// tryAcquireOrRenew works like the client-go function with the same name. A leader whose lease has not ended updates
// the record it wrote last. If that fails, or if the client is not such a leader, it reads the record. It then writes
// the record if it is the leader itself, if there is no leader, or if the other client's lease has ended.
func (e *election) tryAcquireOrRenew(env sim.Env, via *etcdCaller, deadline time.Duration) bool {
	start := env.Monotonic()
	if e.leads() && e.valid(env, start) &&
		e.write(env, via, deadline, e.term(env, e.observed.LeaseTransitions)) == Confirmed {
		return true
	}
	key, answered := e.get(env, via, deadline)
	switch {
	case !answered:
		return false
	case key == nil:
		e.version = 0
		return e.write(env, via, deadline, e.term(env, 0)) == Confirmed
	case key.Mod != e.version:
		e.version, e.seen = key.Mod, env.Monotonic()
		e.observed = rpc.ReadLeaseObject(key.Value).Spec
	}
	transitions := e.observed.LeaseTransitions
	if !e.leads() {
		if e.observed.HolderIdentity != "" && e.valid(env, start) {
			return false
		}
		transitions++
	}
	return e.write(env, via, deadline, e.term(env, transitions)) == Confirmed
}

// term returns the record that a leader writes.
func (e *election) term(env sim.Env, transitions int64) rpc.LeaseSpec {
	return rpc.LeaseSpec{HolderIdentity: e.identity, LeaseDurationSeconds: int64(e.config.TTL / time.Second),
		RenewTime: e.time(env), LeaseTransitions: transitions}
}

// time returns the current time for the record. It returns "" unless this client measures leases from the time in the
// record.
func (e *election) time(env sim.Env) string {
	if e.own.observe != renewTime {
		return ""
	}
	return env.Wall().Format(rpc.MicroTime)
}

// valid reports whether the lease in the record that the client last saw is still valid. now is the time on the
// client's monotonic clock.
func (e *election) valid(env sim.Env, now time.Duration) bool {
	lasts := time.Duration(e.observed.LeaseDurationSeconds) * time.Second
	if e.own.duration == ownDuration {
		lasts = e.config.TTL
	}
	if e.own.observe == renewTime {
		renewed, err := time.Parse(rpc.MicroTime, e.observed.RenewTime)
		return err == nil && renewed.Add(lasts).After(env.Wall())
	}
	return e.seen+lasts > now
}

// write replaces the record if its version is still the one that the client knows. If it is not, write returns Denied.
// With anyVersion, write replaces an existing record whatever its version is. After a successful write, the new record
// counts as the one that the client last saw.
func (e *election) write(env sim.Env, via *etcdCaller, deadline time.Duration, spec rpc.LeaseSpec) Answer {
	put := rpc.Op{Kind: rpc.Put, Key: e.key(), Value: rpc.LeaseObject{Spec: spec}.String()}
	txn := rpc.Txn{Conditions: []rpc.Compare{{Target: "MOD", Key: e.key(), Rel: '=', Number: e.version}},
		Then: []rpc.Op{put}}
	call, compares := txn.Call(), true
	if e.own.version == anyVersion && e.version > 0 {
		call, compares = put.Call(), false
	}
	switch r, ok := e.ask(env, via, deadline, call); {
	case !ok:
		return Unanswered
	case compares && !r.Succeeded:
		return Denied
	default:
		e.version, e.observed, e.seen = r.Revision, spec, env.Monotonic()
		return Confirmed
	}
}

// get reads the record. key is nil if there isn't one. answered reports whether there was a reply.
func (e *election) get(env sim.Env, via *etcdCaller, deadline time.Duration) (key *rpc.KeyValue, answered bool) {
	r, answered := e.ask(env, via, deadline, rpc.Op{Kind: rpc.Range, Key: e.key()}.Call())
	if len(r.Keys) > 0 {
		key = &r.Keys[0]
	}
	return key, answered
}

// ask sends a request to one API server. If that server does not reply, the next call goes to the next server. answered
// is false if no reply arrived before the timeout or the deadline.
func (e *election) ask(env sim.Env, via *etcdCaller, deadline time.Duration, call rpc.Call) (_ rpc.Response,
	answered bool) {
	left := deadline - env.Monotonic()
	if left <= 0 {
		return rpc.Response{}, false
	}
	r, err := via.ask(env, e.attempt, min(e.config.Timeout, left), call)
	if err != nil {
		env.Close(via.member())
		via.at = (via.at + 1) % len(e.config.Servers)
	}
	return r, err == nil
}

func (e *election) key() string {
	return rpc.LeaseObjects + rpc.DefaultNamespace + string(e.config.Key)
}

// givesUpAt returns when a leader that starts renewing now would give up, on the leader's monotonic clock.
func (c *leaseObjectConfig) givesUpAt(env sim.Env) time.Duration {
	if c.renewDeadline == 0 {
		return sim.Forever
	}
	return env.Monotonic() + c.renewDeadline
}

// renew renews the lease once per period, until the client stops or the renew deadline passes.
func (e *election) renew(env sim.Env, renewed func()) {
	for e.keepTrying(env) {
		renewed()
		if env.Sleep(e.own.period, &e.stopped) {
			return
		}
	}
	if e.stopped.Raised() {
		return
	}
	e.stopped.Raise()
	e.release(env, &e.renewals)
	e.lost.Raise()
}

// keepTrying tries to renew once per period until it succeeds, the renew deadline passes, or the client stops. It keeps
// going even if it finds that another client is the leader.
func (e *election) keepTrying(env sim.Env) bool {
	deadline := e.own.givesUpAt(env)
	for next := env.Monotonic(); !e.stopped.Raised() && env.Monotonic() < deadline; {
		if e.tryAcquireOrRenew(env, &e.renewals, deadline) {
			return !e.stopped.Raised()
		}
		next += e.own.period
		env.Sleep(min(next, deadline)-env.Monotonic(), &e.stopped)
	}
	return false
}

// release removes the holder from the record, if the client is configured to do so. With clearsRecord, it reads the
// record first, and again after a conflict, but does not check whether another client has become the leader since.
func (e *election) release(env sim.Env, via *etcdCaller) Answer {
	if e.own.release == leavesRecord {
		return Confirmed
	}
	for deadline := e.own.givesUpAt(env); ; {
		transitions := e.observed.LeaseTransitions
		if e.own.release == clearsRecord {
			key, answered := e.get(env, via, deadline)
			switch {
			case !answered:
				return Unanswered
			case key == nil || !e.leads():
				return Denied
			}
			e.version, transitions = key.Mod, rpc.ReadLeaseObject(key.Value).Spec.LeaseTransitions
		}
		a := e.write(env, via, deadline, rpc.LeaseSpec{LeaseDurationSeconds: 1, RenewTime: e.time(env),
			LeaseTransitions: transitions})
		if a != Denied || e.own.release != clearsRecord {
			return a
		}
	}
}
