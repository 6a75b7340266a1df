package locks

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// This file holds the keys that several protocols accept. The keys of a single protocol are in its file, with their
// values.

// Limits on counts. Larger values are of no use.
const (
	maxServers  = 99
	maxReplicas = 9
	maxCount    = 10_000 // attempts, extensions
)

var (
	ttlKey = format.Time("ttl", func(c *Config) *time.Duration { return &c.TTL }, 10*time.Second,
		"the lock's time to live; with setnx, which sets none, only what waiting is judged by; with etcd the lease's, "+
			"which the "+
			"library keeps alive every third of it; with zookeeper the session's timeout").
		With(func(f *format.Form) { f.Least, f.Step = int64(time.Millisecond), int64(time.Millisecond) })

	retryKey = group("retry", "when and how often an acquire tries again")

	retryDelay = format.Spread("retry.delay", func(c *Config) *sim.Delay { return &c.Retry },
		sim.Delay{Lo: 50 * time.Millisecond, Hi: 250 * time.Millisecond},
		"between a failed attempt and the next").Recurring().Showing("50ms..250ms")

	retryPatience = format.Positive("retry.patience", func(c *Config) *time.Duration { return &c.Patience }, 0,
		"after which an acquire gives up; `none`: never", "none")

	retryCount = format.Number("retry.count", func(c *Config) *int { return &c.Attempts }, 0, 1, maxCount,
		"how many attempts an acquire makes at most, the first included: the documents' RETRY_COUNT, there 3; "+
			"`none`: as many "+
			"as it takes", "none")

	retryClock = format.Choice("retry.patience-clock", func(c *Config) *sim.ClockKind { return &c.Waits },
		"the clock on which patience is measured: on the `wall` clock, as a loop on time.time() does, a step of the "+
			"clock lengthens or ends the wait",
		format.Option[sim.ClockKind]{Word: "monotonic", Value: sim.Monotonic},
		format.Option[sim.ClockKind]{Word: "wall", Value: sim.Wall}).OnWall("wall")

	retryWake = format.Choice("retry.wake", func(c *Config) *Waking { return &c.Wake },
		"when a client that found the lock taken tries again: after the `delay`; at the `message` that the holder "+
			"publishes after its release (Pub/Sub, which keeps nothing for those who do not listen); or "+
			"`message-or-ttl`: at the message, and at the latest a TTL later",
		format.Options(WakeAfterDelay, WakeOnMessage, WakeOnMessageTTL)...)

	timeoutKey = format.Positive("timeout", func(c *Config) *time.Duration { return &c.Timeout }, 50*time.Millisecond,
		"how long a client waits for the answer of one server: short against the TTL, as the Redlock document asks; a "+
			"coordination service must be given time to elect").Recurring()

	reentrantKey = format.Choice("reentrant", func(c *Config) *Reentry { return &c.Reentry },
		"what becomes of a lock that its holder takes once more (`work.nested`). `counted`: the last release gives "+
			"it back; `uncounted`: the first does (go-zero 1338); `overwrite`: the client compares the owner, then "+
			"sets the key anew, whoever holds it by then (redisson 84)",
		format.Options(CountedReentry, UncountedReentry, OverwritingReentry)...)

	releaseKey = format.Choice("release", func(c *Config) *Release { return &c.Release },
		"`script`, Tair's `cad` (`servers.version: tair`) and Redis 8.4's `delex` (`servers.version: 8`) compare and "+
			"delete in one step; `del` deletes whoever holds the lock; `get-then-del` compares, then deletes; "+
			"`nothing` asks for nothing, so that the key stays until it expires",
		format.Options(ReleaseScript, ReleaseDel, ReleaseGetThenDel, ReleaseCAD, ReleaseDelex, ReleaseNothing)...)

	valueKey = format.Choice("value", func(c *Config) *TokenScope { return &c.TokenScope },
		"the owner value: each attempt has one of its own, or all attempts of one acquire share one, or all of a "+
			"client; `fixed`: all clients have the same, a constant in their code",
		format.Options(PerRequest, PerAcquire, PerClient, Fixed)...)

	clockKey = format.Choice("clock", func(c *Config) *sim.ClockKind { return &c.Clock },
		"the clock on which the client measures elapsed time and the validity that is left",
		format.Option[sim.ClockKind]{Word: "monotonic", Value: sim.Monotonic},
		format.Option[sim.ClockKind]{Word: "wall", Value: sim.Wall}).OnWall("wall")

	elapsedCheck = format.Switch("elapsed-check", func(c *Config) *bool { return &c.ElapsedCheck }, true,
		"count the validity from before the first request, and refuse a lock of which nothing is left when the "+
			"answers are there (Redlock's step 3); `off`: count the TTL from the return")

	permitsKey = format.Number("permits", func(c *Config) *int { return &c.Permits }, 1, 1, maxCount,
		"how many clients may hold the lock at the same time: with more than one it is a semaphore")

	// On one Redis, a client that states no validity has one of the TTL, counted from the reply (LAWS.md).
	elapsedCheckIfCareful = elapsedCheck.Depending("`on` with an extension or `work.check-validity`, else `off`")

	driftAllowance = format.Key[Config]{Path: "drift-allowance",
		Form:     format.Form{Kind: format.Allowance, Words: []string{"off"}},
		Standard: format.Value{Word: "off"},
		Meaning:  "taken off the validity for clock drift: a share of the TTL and a constant",
		Set:      func(c *Config, v format.Value) { c.Drift = Allowance{v.N, time.Duration(v.From)} },
		Get: func(c *Config) format.Value {
			if c.Drift == (Allowance{}) {
				return format.Value{Word: "off"}
			}
			return format.Value{N: c.Drift.PPM, From: int64(c.Drift.Plus)}
		}}

	extensionKey = optional("extension", "prolongs the lock while its work goes on (renewal, "+
		"keepalive); `{}` takes all defaults below",
		func(c *Config) **Extension { return &c.Extension },
		func() *Extension { return &Extension{Limit: limitNotGiven} }, func() []Setting { return extensionKeys })

	extensionMode = format.Choice("extension.mode", func(c *Config) *ExtendMode { return &c.Extension.Mode },
		"how an extension is made, or what a library got wrong about it; see Extensions",
		format.Options(ExtendChecked, ExtendCAS, ExtendUnchecked, ExtendAnyAnswer, ExtendIgnoreElapsed,
			ExtendOrAcquire, ExtendExpire, ExtendRelease, ExtendReacquire)...)

	extensionKeys = within(func(c *Config) bool { return c.Extension != nil },
		extensionMode,
		format.Positive("extension.lease", func(c *Config) *time.Duration { return &c.Extension.TTL }, 0,
			"how long the lock lasts from an extension on, as in CAS … EX 10 after SET … EX 5").
			With(func(f *format.Form) {
				f.Least, f.Step = int64(time.Millisecond), int64(time.Millisecond)
			}).Depending("TTL"),
		format.Positive("extension.every", func(c *Config) *time.Duration { return &c.Extension.Every }, 0,
			"time between two extensions").Recurring().Depending("TTL / 3").Showing("10s"),
		format.Number("extension.limit", func(c *Config) *int { return &c.Extension.Limit }, limitNotGiven, 1,
			maxCount,
			"how many extensions of one hold at most", "none").Depending("`none` in the background, 3 in steps"),
		format.Choice("extension.in", func(c *Config) *bool { return &c.Extension.Background },
			"by a keepalive beside the work, or by the worker between steps of its work",
			format.Option[bool]{Word: "background", Value: true}, format.Option[bool]{Word: "steps"}))

	waitKey = optional("wait", "after the lock is set, WAIT for replicas; `{}` takes all defaults below",
		func(c *Config) **Wait { return &c.Wait }, func() *Wait { return &Wait{} },
		func() []Setting { return waitKeys })

	waitKeys = within(func(c *Config) bool { return c.Wait != nil },
		format.Number("wait.replicas", func(c *Config) *int { return &c.Wait.Replicas }, 1, 1, maxReplicas,
			"how many replicas must have the write").Showing("1"),
		format.Time("wait.timeout", func(c *Config) *time.Duration { return &c.Wait.Timeout }, time.Second,
			"how long WAIT waits; 0s: for ever"),
		format.Switch("wait.obey", func(c *Config) *bool { return &c.Wait.Obey }, true,
			"give the attempt up if fewer replicas answered; with redlock a master of which fewer answered is not "+
				"counted"),
		format.Switch("wait.on-release", func(c *Config) *bool { return &c.Wait.Release }, false, "WAIT after the "+
			"release, too"),
		format.Switch("wait.same-connection", func(c *Config) *bool { return &c.Wait.SameConnection }, true,
			"send WAIT on the connection that set the lock, whose writes it covers; `off`: to the master as it is "+
				"known by then, "+
				"which after a failover is another"))
)

// common are the keys above, in the order of the reference.
var common = slices.Concat([]Setting{ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock,
	retryWake, timeoutKey, reentrantKey,
	releaseKey, valueKey, clockKey, elapsedCheckIfCareful, driftAllowance, extensionKey}, extensionKeys,
	[]Setting{waitKey}, waitKeys)

// own returns the keys that only one protocol accepts. Their values are in a T in Config.Own.
func own[T any](keys ...format.Key[T]) []Setting {
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

// ownOf returns the settings in c that only one protocol has; the zero T if c belongs to another protocol.
func ownOf[T any](c *Config) T {
	o, _ := c.Own.(T)
	return o
}

// limitNotGiven is the value of Extension.Limit until it is known whether the extension runs in the background.
const limitNotGiven = -1

// group returns a key for a mapping that only contains other keys.
func group(path, meaning string) Setting {
	return Setting{Path: path, Form: format.Form{Kind: format.Mapping}, Depends: "the keys below", Meaning: meaning,
		Set: func(*Config, format.Value) {}, Get: func(*Config) format.Value { return format.Value{} }}
}

// optional returns a key for a mapping that may be none, which is its default. When the mapping is given, its keys get
// their defaults.
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
			default: // shared with another client so far: copy it before it changes for this one
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

// within makes the keys of an optional mapping read as none while the mapping is not in use.
func within(inUse func(*Config) bool, keys ...Setting) []Setting {
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
