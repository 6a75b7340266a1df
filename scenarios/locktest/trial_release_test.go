package locktest

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestTheTrialRunSeesWhatUnlockDoes checks that the trial run reports an Unlock that returns nil although the key
// remains, and an Unlock that deletes another holder's key. It must also report a Lock that waits and does not notice
// that the lease has ended. It must not report a lock that is released in an unusual way.
func TestTheTrialRunSeesWhatUnlockDoes(t *testing.T) {
	const still = `the key "lock" still existed after Unlock of worker-10 had returned nil, `
	for name, test := range map[string]struct {
		Config
		want string // beginning of the first problem; empty: no problem
	}{
		"does nothing": {Config{New: made(nil, nop)},
			still + "until it expired 7s later: Unlock must delete it"},
		"does nothing, asks seldom": {Config{New: both(polling(7*time.Second), nop)}, still + "until it expired 7s"},
		"deletes another key": {Config{New: made(nil, evaluating(compareAndDelete, "lock:lock"))},
			still + "until it expired"},
		"compares with something else": {Config{New: made(nil, func(ctx context.Context, l *trying) error {
			_, err := l.do(ctx, "EVAL", compareAndDelete, "1", l.c.Key, "not "+l.value())
			return err
		})}, still + "until it expired"},
		"does not stop renewing": {Config{New: unreleased(renewing)}, still + "and was extended "},
		"has no expiry, and does nothing": {Config{New: made(setnx, nop)},
			still + "and it has not been changed since: Unlock must delete it"},
		"of five servers, tells two": {Config{New: partlyReleased, Servers: Redis(5)},
			`the key "lock" still existed on redis-3, redis-4 and redis-5 after Unlock of worker-10 had returned ` +
				"nil, until it expired 7s later"},

		"writes that the lock is free": {Config{New: made(takeFree, evaluating(setFree, "lock"))}, ""},
		"writes so, and asks seldom":   {Config{New: made(briefly(takeFree), evaluating(setFree, "lock"))}, ""},
		"deletes a while later": {Config{New: made(nil, func(ctx context.Context, l *trying) error {
			value := l.value()
			time.AfterFunc(300*time.Millisecond, func() {
				l.do(l.c.Context(), "EVAL", compareAndDelete, "1", "lock", value)
			})
			return nil
		})}, ""},
		"shortens the TTL": {Config{New: made(nil, func(ctx context.Context, l *trying) error {
			_, err := l.do(ctx, "EVAL", `if redis.call("get",KEYS[1]) == ARGV[1] then
				return redis.call("pexpire",KEYS[1],2000) else return 0 end`, "1", l.c.Key, l.value())
			return err
		})}, ""},
		"puts back a token":         {Config{New: made(popToken, pushToken)}, ""},
		"a hash with a mode":        {Config{New: made(takeHash, evaluating(giveHash, "lock"))}, ""},
		"hands over in the process": {Config{New: handing()}, ""},
		"waits in the process":      {Config{New: sharing(newPlain)}, ""},
		"leaves a key of its own beside the lock's": {Config{New: made(numbered, nil),
			Keys: func(lock string) []string { return []string{lock, lock + ":token"} }}, ""},

		"deletes another's": {Config{New: newCareless},
			deleted + "delete in one step"},
		"but need not care": {Config{New: newCareless, Laws: []checker.Law{checker.LeaseExclusion}}, ""},
		"compares a beginning": {Config{New: own(beginning)}, deleted +
			`delete in one step, and compare all of it: "worker-100" begins with "worker-1"`},
		"compares what it has read": {Config{New: made(nil, evaluating(`local value = redis.call("get", KEYS[1])
			if value and redis.call("get", KEYS[1]) == value then return redis.call("del", KEYS[1]) end
			return 0`, "lock"))},
			"worker-1 deleted the key \"lock\" of worker-100, which already had the lock. It read the value of " +
				"the key, but did not compare it with the value that its own Lock had set: keep that value; " +
				"compare it and delete in one step"},
		"compares all": {Config{New: own(compareAndDelete)}, ""},

		"never looks again": {Config{New: deafWaiter()},
			"Lock of worker-100 was still waiting 1m13s after the lease of worker-1 had ended; when its context was " +
				`canceled, it returned "context canceled"`},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 5)
			checkTrial(t, test.Config, test.want)
		})
	}
}

// TestTheTrialRunSeesWhichKeysAreTheLocks checks that the trial run accepts a key in Config.Keys only if every holder
// of the lock sets it.
func TestTheTrialRunSeesWhichKeysAreTheLocks(t *testing.T) {
	and := func(other string) func(string) []string {
		return func(lock string) []string { return []string{lock, lock + other} }
	}
	for name, test := range map[string]struct {
		Config
		want string // beginning of the first problem; empty: no problem
	}{
		"other keys": {Config{New: newSeveral("")},
			`the servers saw no key "lock", but they saw "my:0:lock", "my:1:lock" and "my:2:lock": set Config.Keys`},
		"no key": {Config{New: sharing(made(pinging, nop))}, `the servers saw no key "lock" and no other key: ` +
			"keys show who owns a lock and why its lease ended. If this lock needs no keys, set Config.SkipTrial"},
		"no key, and two have it at once": {Config{New: made(pinging, nop)}, `Lock of worker-1 returned nil after `},
		"a queue, not named":              {Config{New: queueing("RPUSH", ":queue")}, ""},
		"a queue": {Config{New: queueing("RPUSH", ":queue"), Keys: and(":queue")},
			`Config.Keys names "lock:queue", which worker-1 set while it waited for the lock that worker-10 had: ` +
				"name only keys that every holder of the lock sets"},
		"a set of those who wait": {Config{New: queueing("SADD", ":waiting"), Keys: and(":waiting")},
			`Config.Keys names "lock:waiting", which worker-1 set while it waited for the lock that worker-10 had: `},
		"only the queue": {Config{New: queueing("RPUSH", ":queue"), Keys: func(lock string) []string {
			return []string{lock + ":queue"}
		}}, `Config.Keys names "lock:queue", which worker-1 set while it waited for the lock that worker-10 had: `},
		"a signal": {Config{New: signaling, Keys: and(":signal")}, `Config.Keys names "lock:signal", which the Unlock ` +
			"of worker-10 set, but which worker-10 did not use when it acquired the lock: name only keys that every "},
		"only the signal": {Config{New: signaling, Keys: func(lock string) []string {
			return []string{lock + ":signal"}
		}}, `Config.Keys names "lock:signal", which the Unlock of `},
		"a signal, not named": {Config{New: signaling}, ""},
		"a list of tokens": {Config{New: made(popToken, pushToken), Keys: func(lock string) []string {
			return []string{lock}
		}}, ""},
	} {
		t.Run(name, func(t *testing.T) { checkTrial(t, test.Config, test.want) })
	}
}

// TestTheTrialRunSeesAKeyThatItsHolderDeletes checks that the trial run reports a client that deletes its own key
// before it calls Unlock, and so gives up the lock. It must do so for every kind of lock, and must not mistake the key
// for a queue's key.
func TestTheTrialRunSeesAKeyThatItsHolderDeletes(t *testing.T) {
	inner := func(outer, unlock func(context.Context, *trying) error) func(context.Context, *trying) error {
		return func(ctx context.Context, l *trying) error {
			if err := outer(ctx, l); err != nil {
				return err
			}
			return unlock(ctx, l)
		}
	}
	mutex := func(ctx context.Context, l *trying) error { return l.plain.Lock(ctx) }
	compared := evaluating(compareAndDelete, "lock")
	const gave = `worker-10 deleted its own key "lock" before it called Unlock, and worker-1 got the lock as well: ` +
		"delete it only in Unlock. If a function that runs under the lock acquires it again, count the holds"
	later := func(ctx context.Context, l *trying) error {
		value := l.value()
		time.AfterFunc(100*time.Millisecond, func() {
			l.do(l.c.Context(), "EVAL", compareAndDelete, "1", "lock", value)
		})
		return nil
	}
	queue := func(lock string) []string { return []string{lock, lock + ":queue"} }
	for name, test := range map[string]struct {
		Config
		want string // beginning of the first problem; empty: no problem
	}{
		"an inner release":           {Config{New: made(inner(mutex, compared), compared)}, gave},
		"an inner release of a hash": {Config{New: made(inner(takeHash, evaluating(giveHash, "lock")), nop)}, gave},
		"a task in the background":   {Config{New: made(inner(mutex, later), nop)}, gave},
		"an inner release, before a queue that is named": {Config{Keys: queue,
			New: both(queueing("RPUSH", ":queue"), nop)}, `Config.Keys names "lock:queue"`},
		"an inner release, and nobody asks yet": {Config{New: made(inner(late(mutex), compared), strictly)},
			`worker-10 deleted its own key "lock" before it called Unlock, which then failed: delete it only in `},
		"an inner release that counts":  {Config{New: made(inner(mutex, nop), nil)}, ""},
		"a token that is out of a list": {Config{New: made(popToken, pushToken)}, ""},
	} {
		t.Run(name, func(t *testing.T) { checkTrial(t, test.Config, test.want) })
	}
}

// late returns a Lock that waits two seconds before its first request.
func late(lock func(context.Context, *trying) error) func(context.Context, *trying) error {
	return func(ctx context.Context, l *trying) error {
		time.Sleep(2 * time.Second)
		return lock(ctx, l)
	}
}

// strictly is an Unlock that returns an error if the key does not have the client's value.
func strictly(ctx context.Context, l *trying) error {
	said, err := l.do(ctx, "EVAL", compareAndDelete, "1", l.c.Key, l.value())
	if err == nil && said != ":1" {
		err = errors.New("lock is not held")
	}
	return err
}

// TestTheTrialRunSeesALossThatNobodyIsToldOf checks that the trial run reports a LossNotifier that does not report that
// its lock was lost after the key expired.
func TestTheTrialRunSeesALossThatNobodyIsToldOf(t *testing.T) {
	const ttl = 8 * time.Second
	told := func(after time.Duration) constructor {
		return making(func(c *Client) Lock { return announcing{&telling{plain: &plain{c: c, ttl: ttl}, after: after}} })
	}
	const silent = `the key "lock" of worker-1 expired 8s after Lock had returned nil and without a renewal, ` +
		"and 4s later Lost was still not closed: renew the lease until Unlock is called, or close Lost before the " +
		"lease ends"
	for name, test := range map[string]struct {
		Config
		want string // beginning of the first problem; empty: no problem
	}{
		"in time":              {Config{New: told(ttl - time.Second)}, ""},
		"when the key expires": {Config{New: told(ttl)}, ""},
		"soon after":           {Config{New: told(ttl + time.Second)}, ""},
		"long after":           {Config{New: told(ttl + 6*time.Second)}, silent},
		"never":                {Config{New: told(0)}, silent},
		"never, and says until when": {Config{New: wrapped(told(0), func(l announcing) Lock { return saying{l} })},
			silent},
		"never, but it is renewed": {Config{New: wrapped(renewing, func(l *trying) Lock { return losable{l} })}, ""},
	} {
		t.Run(name, func(t *testing.T) { checkTrial(t, test.Config, test.want) })
	}
}

// saying is an announcing lock with a ValidUntil method.
type saying struct{ announcing }

func (l saying) ValidUntil() time.Time { return l.l.until }

// losable is a LossNotifier that never reports that its lock was lost.
type losable struct{ *trying }

func (l losable) Lost() <-chan struct{} { return nil }

// both returns a constructor for locks like the given constructor's, but with a different Unlock.
func both(lock constructor, unlock func(ctx context.Context, l *trying) error) constructor {
	return wrapped(lock, func(l *trying) Lock {
		l.unlock = unlock
		return l
	})
}

// unreleased returns a constructor for locks like the given constructor's, but with an Unlock that does nothing and
// returns nil.
func unreleased(lock constructor) constructor { return both(lock, nop) }

// evaluating returns an Unlock that runs a script with a key and the owner value.
func evaluating(script, key string) func(context.Context, *trying) error {
	return func(ctx context.Context, l *trying) error {
		_, err := l.do(ctx, "EVAL", script, "1", key, l.value(), "8000")
		return err
	}
}

// granting returns a Lock that runs a script until it returns 1.
func granting(script string) func(context.Context, *trying) error {
	return func(ctx context.Context, l *trying) error {
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			l.n++
			if said, err := l.do(ctx, "EVAL", script, "1", l.c.Key, l.value(), "8000"); err == nil && said == ":1" {
				l.until = time.Now().Add(l.ttl)
				return nil
			}
		}
		return ctx.Err()
	}
}

// takeFree acquires a lock if its key has the value "free" or does not exist, and setFree releases it by writing
// "free".
var takeFree = granting(`local v = redis.call("get",KEYS[1]) if v == false or v == "free" then
	redis.call("set",KEYS[1],ARGV[1],"PX",ARGV[2]) return 1 end return 0`)

const setFree = `if redis.call("get",KEYS[1]) == ARGV[1] then redis.call("set",KEYS[1],"free") return 1 end return 0`

// takeHash acquires a lock by setting two hash fields: one names the owner, and the other says only that there is a
// writer. giveHash removes the owner's field, and deletes the hash if only the other field is left.
var takeHash = granting(`if redis.call("hlen",KEYS[1]) > 0 then return 0 end redis.call("hset",KEYS[1],"mode","w")
	redis.call("hset",KEYS[1],ARGV[1],"1") redis.call("pexpire",KEYS[1],ARGV[2]) return 1`)

const giveHash = `local n = redis.call("hdel",KEYS[1],ARGV[1])
	if redis.call("hlen",KEYS[1]) == 1 then redis.call("del",KEYS[1]) end return n`

// briefly returns a Lock that calls the given one for 50 ms every seven seconds.
func briefly(lock func(context.Context, *trying) error) func(context.Context, *trying) error {
	return func(ctx context.Context, l *trying) error {
		for ctx.Err() == nil {
			moment, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			err := lock(moment, l)
			cancel()
			if err == nil {
				return nil
			}
			time.Sleep(7 * time.Second)
		}
		return ctx.Err()
	}
}

// setnx acquires a lock with a key that does not expire.
func setnx(ctx context.Context, l *trying) error {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if said, err := l.do(ctx, "SETNX", l.c.Key, l.c.Name); err == nil && said == ":1" {
			return nil
		}
	}
	return ctx.Err()
}

// numbered acquires the lock and then increments a counter, as a lock with fencing tokens does.
func numbered(ctx context.Context, l *trying) error {
	err := l.plain.Lock(ctx)
	if err == nil {
		_, err = l.do(ctx, "INCR", l.c.Key+":token")
	}
	if err == nil {
		_, err = l.do(ctx, "PEXPIRE", l.c.Key+":token", "8000")
	}
	return err
}

// popToken acquires the lock by removing a token from a list. The first client creates the token. pushToken puts it
// back.
func popToken(ctx context.Context, l *trying) error {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		l.do(ctx, "EVAL", `if redis.call("setnx",KEYS[1]..":made","1") == 1 then redis.call("rpush",KEYS[1],"token") end
			return 1`, "1", l.c.Key)
		const pop = `if redis.call("lpop",KEYS[1]) then return 1 end return 0`
		if said, err := l.do(ctx, "EVAL", pop, "1", l.c.Key); err == nil && said == ":1" {
			return nil
		}
	}
	return ctx.Err()
}

func pushToken(ctx context.Context, l *trying) error {
	_, err := l.do(ctx, "RPUSH", l.c.Key, "token")
	return err
}

// sharing returns a constructor for locks with clients that first wait for each other within the process, and only then
// send requests to a server.
func sharing(lock constructor) constructor {
	var inside chan struct{}
	return wrapped(lock, func(l Lock) Lock {
		if inside == nil {
			inside = make(chan struct{}, 1)
		}
		return &inProcess{of: l, inside: inside}
	})
}

type inProcess struct {
	of     Lock
	inside chan struct{}
}

func (l *inProcess) Lock(ctx context.Context) error {
	select {
	case l.inside <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := l.of.Lock(ctx)
	if err != nil {
		<-l.inside
	}
	return err
}

func (l *inProcess) Unlock(ctx context.Context) error {
	defer func() { <-l.inside }()
	return l.of.Unlock(ctx)
}

func (l *inProcess) Close() error { return l.of.(io.Closer).Close() }

// handing returns a constructor for locks that a process's clients hand over to each other. The key stays on the server
// as long as one of them is waiting.
func handing() constructor {
	var waiting atomic.Int32
	kept := false
	inner := func(c *Client) (Lock, error) {
		return made(func(ctx context.Context, l *trying) error {
			if kept {
				return nil
			}
			kept = true
			_, err := l.do(ctx, "SET", c.Key, "the process", "PX", "8000")
			return err
		}, func(ctx context.Context, l *trying) error {
			if waiting.Load() > 0 {
				return nil
			}
			kept = false
			_, err := l.do(ctx, "DEL", c.Key)
			return err
		})(c)
	}
	return wrapped(sharing(inner), func(l *inProcess) Lock { return &handed{l, &waiting} })
}

type handed struct {
	*inProcess
	waiting *atomic.Int32
}

func (l *handed) Lock(ctx context.Context) error {
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	return l.inProcess.Lock(ctx)
}

// deafWaiter returns a constructor for locks that do not poll: waiting clients retry only when a successful Unlock
// wakes them.
func deafWaiter() constructor {
	var free chan struct{}
	return func(c *Client) (Lock, error) {
		if free == nil {
			free = make(chan struct{}, 1)
		}
		return made(func(ctx context.Context, l *trying) error {
			for once(ctx, l) != nil {
				select {
				case <-free:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		}, func(ctx context.Context, l *trying) error {
			said, err := l.do(ctx, "EVAL", compareAndDelete, "1", c.Key, l.value())
			if err == nil && said != ":1" {
				return errors.New("lock is not held")
			}
			free <- struct{}{}
			return err
		})(c)
	}
}

// queueing returns a constructor for locks that keep their waiting clients in a queue under another key.
func queueing(join, suffix string) constructor {
	return made(func(ctx context.Context, l *trying) error {
		l.do(ctx, join, l.c.Key+suffix, l.c.Name)
		err := l.plain.Lock(ctx)
		if join == "RPUSH" {
			l.do(l.c.Context(), "LREM", l.c.Key+suffix, "0", l.c.Name)
		} else {
			l.do(l.c.Context(), "SREM", l.c.Key+suffix, l.c.Name)
		}
		return err
	}, nil)
}

// signaling makes locks with an Unlock that wakes a waiting client by adding an element to a list.
var signaling = made(func(ctx context.Context, l *trying) error {
	for ; ctx.Err() == nil; l.do(ctx, "BLPOP", l.c.Key+":signal", "1") {
		if said, err := l.do(ctx, "SET", l.c.Key, l.value(), "NX", "PX", "8000"); err == nil && said == "+OK" {
			return nil
		}
	}
	return ctx.Err()
}, evaluating(`if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
	redis.call("del", KEYS[1])
	redis.call("del", KEYS[1] .. ":signal")
	redis.call("rpush", KEYS[1] .. ":signal", "1")
	return redis.call("pexpire", KEYS[1] .. ":signal", 8000)`, "lock"))

// partlyReleased creates a lock on five servers. Its Unlock releases it on only the first two.
func partlyReleased(c *Client) (Lock, error) {
	l := &partial{}
	for i := range 5 {
		l.all = append(l.all, &plain{c: c, ttl: 8 * time.Second, at: i})
	}
	return l, nil
}

type partial struct{ all []*plain }

func (l *partial) Lock(ctx context.Context) error {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		granted := 0
		for _, one := range l.all {
			one.n++
			said, err := one.do(ctx, "SET", one.c.Key, one.value(), "NX", "PX", "8000")
			if err == nil && said == "+OK" {
				granted++
			}
		}
		if granted >= 3 {
			return nil
		}
		for _, one := range l.all {
			one.Unlock(ctx)
		}
	}
	return ctx.Err()
}

func (l *partial) Unlock(ctx context.Context) error {
	return errors.Join(l.all[0].Unlock(ctx), l.all[1].Unlock(ctx))
}

func (l *partial) Close() (err error) {
	for _, one := range l.all {
		err = errors.Join(err, one.Close())
	}
	return err
}
