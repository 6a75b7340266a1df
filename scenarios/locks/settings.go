package locks

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// This file contains the settings that several protocols accept. Settings that belong to only one protocol are in that
// protocol's file.

// Maximum values for settings that count something. Larger values would serve no purpose.
const (
	maxServers  = 99
	maxReplicas = 9
	maxCount    = 10_000 // maximum number of attempts, and of extensions
)

var (
	ttlKey = format.Time("ttl", func(c *Config) *time.Duration { return &c.TTL }, 10*time.Second,
		"the lock's time to live. "+
			"With setnx, keys do not expire, and this only says how long a client may have to wait. "+
			"With etcd, it is the TTL of the lease, which the library renews every third of that time; "+
			"with zookeeper, it is the session's timeout").
		With(func(f *format.Form) { f.Least, f.Step = int64(time.Millisecond), int64(time.Millisecond) })

	retryKey = group("retry", "when and how often an acquire tries again")

	retryDelay = format.Spread("retry.delay", func(c *Config) *sim.Delay { return &c.Retry },
		sim.Delay{Lo: 50 * time.Millisecond, Hi: 250 * time.Millisecond},
		"how long a client waits after a failed attempt").Recurring().Showing("50ms..250ms")

	retryPatience = format.Positive("retry.patience", func(c *Config) *time.Duration { return &c.Patience }, 0,
		"the time after which an acquire gives up; `none`: it never does", "none")

	retryCount = format.Number("retry.count", func(c *Config) *int { return &c.Attempts }, 0, 1, maxCount,
		"the maximum number of attempts of an acquire, including the first (RETRY_COUNT in the documents, "+
			"where it is 3); `none`: no limit", "none")

	retryClock = format.Choice("retry.patience-clock", func(c *Config) *sim.ClockKind { return &c.Waits },
		"the clock that measures patience. "+
			"If it is the `wall` clock, as in a loop on time.time(), a clock jump lengthens or ends the wait",
		format.Option[sim.ClockKind]{Word: "monotonic", Value: sim.Monotonic},
		format.Option[sim.ClockKind]{Word: "wall", Value: sim.Wall}).OnWall("wall")

	patienceEnds = format.Choice("retry.patience-ends", func(c *Config) *bool { return &c.Abrupt },
		"what happens when patience runs out. `attempts`: no further attempt is made; "+
			"`request`: the client also stops waiting for the current answer, as with a context that has a deadline. "+
			"The server may still carry it out",
		format.Option[bool]{Word: "attempts"}, format.Option[bool]{Word: "request", Value: true})

	releaseOnFailure = format.Switch("release-on-failure", func(c *Config) *bool { return &c.ReleaseOnFailure }, false,
		"delete what a failed attempt may have left: "+
			"with redlock the keys on all servers (step 5), with one Redis the key of a request without a reply, "+
			"with zookeeper the znode of a client that gives up waiting")

	retryWake = format.Choice("retry.wake", func(c *Config) *Waking { return &c.Wake },
		"when a client that found the lock taken tries again. "+
			"`delay`: after the delay; `message`: when the holder publishes its release (by Pub/Sub, "+
			"which keeps no messages for clients that are not subscribed); "+
			"`message-or-ttl`: at the message, or after the TTL if no message has arrived",
		format.Options(WakeAfterDelay, WakeOnMessage, WakeOnMessageTTL)...)

	timeoutKey = format.Positive("timeout", func(c *Config) *time.Duration { return &c.Timeout }, 50*time.Millisecond,
		"how long a client waits for one server's reply. For Redlock it should be short compared with the TTL, "+
			"as the document says; for a coordination service it should leave time for an election").Recurring()

	reentrantKey = format.Choice("reentrant", func(c *Config) *Reentry { return &c.Reentry },
		"what happens when the holder acquires its lock again (`work.nested`). "+
			"`counted`: the last release frees the lock; `uncounted`: the first release frees it (go-zero 1338); "+
			"`overwrite`: the client compares the owner and then sets the key again, "+
			"even if another client holds the lock by then (redisson 84)",
		format.Options(CountedReentry, UncountedReentry, OverwritingReentry)...)

	releaseKey = format.Choice("release", func(c *Config) *Release { return &c.Release },
		"how a client releases the lock. `script`, Tair's `cad` (`servers.version: "+
			"tair`) and Redis 8.4's `delex` (`servers.version: 8`) compare and delete in one step. "+
			"`del` deletes the key, whoever owns it. `get-then-del` compares, then deletes in a second step. "+
			"`nothing` sends no request, so the key stays until it expires",
		format.Options(ReleaseScript, ReleaseDel, ReleaseGetThenDel, ReleaseCAD, ReleaseDelex, ReleaseNothing)...)

	valueKey = format.Choice("value", func(c *Config) *TokenScope { return &c.TokenScope },
		"the owner value. `per-request`: a new one for each attempt; "+
			"`per-acquire`: one for all attempts of an acquire; `per-client`: one for all attempts of a client; "+
			"`fixed`: the same for all clients, a constant in their code",
		format.Options(PerRequest, PerAcquire, PerClient, Fixed)...)

	valueInKey = format.Choice("value-in", func(c *Config) *bool { return &c.InObject },
		"where a client with several `work.tasks` keeps the owner value until the release. "+
			"`call`: with the call that acquired the lock, as in a local variable; "+
			"`object`: in a field of the lock object, "+
			"which the next task to acquire the lock overwrites and a release empties (redis-py 416)",
		format.Option[bool]{Word: "call"}, format.Option[bool]{Word: "object", Value: true})

	clockKey = format.Choice("clock", func(c *Config) *sim.ClockKind { return &c.Clock },
		"the clock with which the client measures elapsed time and remaining validity",
		format.Option[sim.ClockKind]{Word: "monotonic", Value: sim.Monotonic},
		format.Option[sim.ClockKind]{Word: "wall", Value: sim.Wall}).OnWall("wall")

	elapsedCheck = format.Switch("elapsed-check", func(c *Config) *bool { return &c.ElapsedCheck }, true,
		"start measuring the validity before the first request, "+
			"and refuse the lock if its validity has run out by the time the replies arrive (Redlock's step 3); "+
			"`off`: measure the TTL from the last reply")

	permitsKey = format.Number("permits", func(c *Config) *int { return &c.Permits }, 1, 1, maxCount,
		"how many clients may hold the lock at the same time; if it is more than one, the lock is a semaphore")

	sharedKey = format.Switch("shared", func(c *Config) *bool { return &c.Shared }, false,
		"ask for a read lock; if any client does, the lock is a read-write lock")

	// By default, only clients that extend their lock or check its validity take the elapsed time into account. The
	// other clients do not report how long their lock is valid. On a single Redis server, it is then considered valid
	// for one TTL after the reply (see LAWS.md).
	elapsedCheckIfCareful = elapsedCheck.Depending("`on` with an extension or `work.check-validity`, else `off`")

	driftAllowance = format.Key[Config]{Path: "drift-allowance",
		Form:     format.Form{Kind: format.Allowance, Words: []string{"off"}},
		Standard: format.Value{Word: "off"},
		Meaning:  "what a client subtracts from the validity for clock drift: a share of the TTL, and a constant",
		Set:      func(c *Config, v format.Value) { c.Drift = Allowance{v.N, time.Duration(v.From)} },
		Get: func(c *Config) format.Value {
			if c.Drift == (Allowance{}) {
				return format.Value{Word: "off"}
			}
			return format.Value{N: c.Drift.PPM, From: int64(c.Drift.Plus)}
		}}

	extensionKey = optional("extension", "the client extends the lock during its work (renewal, keepalive); "+
		"`{}` uses the defaults of all settings below",
		func(c *Config) **Extension { return &c.Extension },
		func() *Extension { return &Extension{Limit: limitNotGiven} }, func() []Setting { return extensionKeys })

	extensionMode = format.Choice("extension.mode", func(c *Config) *ExtendMode { return &c.Extension.Mode },
		"how a client extends the lock, or which known mistake it makes; see Extensions",
		format.Options(ExtendChecked, ExtendCAS, ExtendUnchecked, ExtendAnyAnswer, ExtendIgnoreElapsed,
			ExtendOrAcquire, ExtendExpire, ExtendRelease, ExtendReacquire)...)

	extensionKeys = settingsWithin(func(c *Config) bool { return c.Extension != nil },
		extensionMode,
		format.Positive("extension.lease", func(c *Config) *time.Duration { return &c.Extension.TTL }, 0,
			"how long the lock lasts after an extension, as in CAS … EX 10 after SET … EX 5").
			With(func(f *format.Form) {
				f.Least, f.Step = int64(time.Millisecond), int64(time.Millisecond)
			}).Depending("TTL"),
		format.Positive("extension.every", func(c *Config) *time.Duration { return &c.Extension.Every }, 0,
			"time between two extensions").Recurring().Depending("TTL / 3").Showing("10s"),
		format.Number("extension.limit", func(c *Config) *int { return &c.Extension.Limit }, limitNotGiven, 1,
			maxCount,
			"the maximum number of extensions while the lock is held", "none").Depending("`none` in the background, "+
			"3 in steps"),
		format.Choice("extension.in", func(c *Config) *bool { return &c.Extension.Background },
			"`background`: a keepalive task extends the lock; "+
				"`steps`: the worker extends it between the steps of its work",
			format.Option[bool]{Word: "background", Value: true}, format.Option[bool]{Word: "steps"}),
		format.Choice("extension.until", func(c *Config) *Ending { return &c.Extension.Until },
			"when the keepalive ends. `last-release`: at the client's last release of the lock; `first-release`: "+
				"also when a function releases the lock that its caller still holds (`work.nested`); "+
				"`never`: only when a server says that the client does not have the lock (redisson 7272)",
			format.Options(EndsWithLast, EndsWithFirst, NeverEnds)...))

	waitKey = optional("wait", "send WAIT after setting the lock, to wait for replicas; "+
		"`{}` uses the defaults of all settings below",
		func(c *Config) **Wait { return &c.Wait }, func() *Wait { return &Wait{} },
		func() []Setting { return waitKeys })

	waitKeys = settingsWithin(func(c *Config) bool { return c.Wait != nil },
		format.Number("wait.replicas", func(c *Config) *int { return &c.Wait.Replicas }, 1, 1, maxReplicas,
			"how many replicas must have received the write").Showing("1"),
		format.Choice("wait.fsync", func(c *Config) *Disks { return &c.Wait.Fsync },
			"which servers must have the write on disk. `none`: no server, so the client sends WAIT; "+
				"otherwise it sends WAITAOF (Redis 7.2) for the `master`, for that many `replicas`, "+
				"or for `all` of these",
			format.Options(NoDisks, MasterDisk, ReplicaDisks, AllDisks)...),
		format.Time("wait.timeout", func(c *Config) *time.Duration { return &c.Wait.Timeout }, time.Second,
			"how long WAIT waits; `0s`: there is no limit"),
		format.Switch("wait.obey", func(c *Config) *bool { return &c.Wait.Obey }, true,
			"give up the attempt if fewer replicas acknowledged; "+
				"with redlock, do not count a master with fewer acknowledgments"),
		format.Switch("wait.on-release", func(c *Config) *bool { return &c.Wait.Release }, false,
			"send WAIT after the release as well"),
		format.Switch("wait.same-connection", func(c *Config) *bool { return &c.Wait.SameConnection }, true,
			"send WAIT on the connection that set the lock, because WAIT covers only that connection's writes; "+
				"`off`: send it to the current master, which may have changed after a failover"))
)

// common lists the settings with which the reference documentation begins, in its order.
var common = slices.Concat([]Setting{ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock,
	patienceEnds, retryWake, timeoutKey, releaseOnFailure, reentrantKey,
	releaseKey, valueKey, valueInKey, clockKey, elapsedCheckIfCareful, driftAllowance, extensionKey}, extensionKeys,
	[]Setting{waitKey}, waitKeys)

// ownSettings returns settings that only one protocol accepts. Config.Own stores them in a value of type T.
func ownSettings[T any](keys ...format.Key[T]) []Setting {
	var list []Setting
	for _, k := range keys {
		list = append(list, Setting{Path: k.Path, Form: k.Form, Standard: k.Standard, Depends: k.Depends,
			Meaning: k.Meaning, Wall: k.Wall, Set: func(c *Config, v format.Value) {
				o := ownOf[T](c)
				k.Set(&o, v)
				c.Own = o
			},
			Get: func(c *Config) format.Value {
				o := ownOf[T](c)
				return k.Get(&o)
			}})
	}
	return list
}

// ownOf returns the settings in c that are specific to one protocol, or the zero value of T if c is for another
// protocol.
func ownOf[T any](c *Config) T {
	o, _ := c.Own.(T)
	return o
}

// limitNotGiven is the value of Extension.Limit until it is known whether the extension runs in the background.
const limitNotGiven = -1

// group returns a setting whose value is a mapping of other settings.
func group(path, meaning string) Setting {
	return Setting{Path: path, Form: format.Form{Kind: format.Mapping}, Depends: "the keys below", Meaning: meaning,
		Set: func(*Config, format.Value) {}, Get: func(*Config) format.Value { return format.Value{} }}
}

// optional returns a setting whose value is a mapping that is absent by default. If a file contains the mapping, the
// settings that the mapping omits have their own defaults.
func optional[P any](path, meaning string, where func(*Config) **P, make func() *P, keys func() []Setting) Setting {
	none := format.Value{Word: "none"}
	form := format.Form{Kind: format.Mapping, Words: []string{"none"}}
	return Setting{Path: path, Form: form, Standard: none, Meaning: meaning,
		Set: func(c *Config, v format.Value) {
			at := where(c)
			switch {
			case v == none:
				*at = nil
			case *at == nil:
				*at = make()
				for _, k := range keys() {
					if k.Depends == "" {
						k.Set(c, k.Standard)
					}
				}
			default: // another client may share the mapping: copy it before it changes for this client
				own := **at
				*at = &own
			}
		},
		Get: func(c *Config) format.Value {
			if *where(c) == nil {
				return none
			}
			return format.Value{}
		}}
}

// settingsWithin changes the settings inside an optional mapping so that they read as "none" whenever the mapping
// itself is "none".
func settingsWithin(inUse func(*Config) bool, keys ...Setting) []Setting {
	for i := range keys {
		get := keys[i].Get
		keys[i].Get = func(c *Config) format.Value {
			if !inUse(c) {
				return format.Value{Word: "none"}
			}
			return get(c)
		}
	}
	return keys
}
