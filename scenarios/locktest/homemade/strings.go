package homemade

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// setNX sets the key if it does not exist.
func setNX(c *Call) (bool, error) { return granted(c.set("NX")) }

// setAlways sets the key, even if another client holds it.
func setAlways(c *Call) (bool, error) {
	return granted(c.Do("SET", c.key("lock"), c.owner, "PX", millis(TTL)))
}

// deleteOwn deletes the key if its value is the owner value. prolongOwn extends the key's expiry if its value is the
// owner value.
var (
	deleteOwn  = script(`if redis.call('get', @lock) == $owner then return redis.call('del', @lock) end return 0`)
	prolongOwn = script(
		`if redis.call('get', @lock) == $owner then return redis.call('pexpire', @lock, $ttl) end return 0`)
)

// ownDeletion is how the description of a fault refers to deleteOwn's script.
const ownDeletion = `"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.c…"`

func del(c *Call) (bool, error) { return granted(c.Do("DEL", c.key("lock"))) }

// get reads the key and returns its value, or "" if the key does not exist.
func (c *Call) get() (string, error) {
	reply, err := c.Do("GET", c.key("lock"))
	value, _ := reply.(string)
	return value, err
}

// ifRead reads the key. If the key has the owner value, ifRead continues with the given step.
func ifRead(then Step) Step {
	return func(c *Call) (bool, error) {
		value, err := c.get()
		if err != nil || value != c.owner {
			return false, err
		}
		return then(c)
	}
}

// watching watches the key with WATCH and then performs a step.
func watching(then Step) Step {
	return func(c *Call) (bool, error) {
		if _, err := c.Do("WATCH", c.key("lock")); err != nil {
			return false, err
		}
		return then(c)
	}
}

// transaction sends commands between MULTI and EXEC and returns their replies, or nil if a watched key has changed.
func (c *Call) transaction(commands ...[]string) ([]any, error) {
	for _, command := range append([][]string{{"MULTI"}}, commands...) {
		if _, err := c.Do(command...); err != nil {
			return nil, err
		}
	}
	reply, err := c.Do("EXEC")
	replies, _ := reply.([]any)
	return replies, err
}

// deleteRead reads the key. If the key has the owner value, deleteRead deletes it in a transaction.
func deleteRead(c *Call) (bool, error) {
	value, err := c.get()
	if err != nil {
		return false, err
	}
	if value != c.owner {
		_, err = c.Do("UNWATCH")
		return false, err
	}
	replies, err := c.transaction([]string{"DEL", c.key("lock")})
	return len(replies) == 1 && replies[0] == int64(1), err
}

// setMissing reads the key and, if it does not exist, sets it in a transaction.
func setMissing(c *Call) (bool, error) {
	value, err := c.get()
	if err != nil {
		return false, err
	}
	if value != "" {
		_, err = c.Do("UNWATCH")
		return false, err
	}
	replies, err := c.transaction([]string{"SET", c.key("lock"), c.owner, "PX", millis(TTL)})
	return len(replies) == 1 && replies[0] == "OK", err
}

// setIfMissing reads the key and, if it does not exist, sets it.
func setIfMissing(c *Call) (bool, error) {
	value, err := c.get()
	if err != nil || value != "" {
		return false, err
	}
	return setAlways(c)
}

// setAndExpire sets the key and its expiry in a transaction. option is a PEXPIRE option, if any.
func setAndExpire(option ...string) Step {
	return func(c *Call) (bool, error) {
		replies, err := c.transaction([]string{"SETNX", c.key("lock"), c.owner},
			append([]string{"PEXPIRE", c.key("lock"), millis(TTL)}, option...))
		return len(replies) == 2 && replies[0] == int64(1), err
	}
}

// renames sets a temporary key with an expiry, and then uses the given command to rename it to the lock's key.
func renames(command string) Step {
	return func(c *Call) (bool, error) {
		own := c.key("try") + ":" + c.owner
		if _, err := c.Do("SET", own, c.owner, "PX", millis(TTL)); err != nil {
			return false, err
		}
		renamed, err := granted(c.Do(command, own, c.key("lock")))
		if err == nil && !renamed {
			_, err = c.Do("DEL", own)
		}
		return renamed, err
	}
}

// takeFree acquires the lock if the key does not exist or its value is "free". giveFree releases the lock by writing
// "free".
var (
	takeFree = script(`
local value = redis.call('get', @lock)
if value and value ~= 'free' then return 0 end
redis.call('set', @lock, $owner, 'px', $ttl)
return 1`)
	giveFree = script(
		`if redis.call('get', @lock) == $owner then redis.call('set', @lock, 'free') return 1 end return 0`)
)

// replaceStale acquires the lock if its record has not changed for a TTL, by the client's own clock. If sinceVersion is
// set, the TTL is measured from the time at which the client first saw the current version of the record. Otherwise, it
// is measured from the time at which the client first found the lock taken.
func replaceStale(sinceVersion bool) Step {
	return func(c *Call) (bool, error) {
		made, err := granted(c.Do("SETNX", c.key("lock"), c.owner))
		if made || err != nil {
			return made, err
		}
		version, err := c.get()
		if err != nil {
			return false, err
		}
		if c.seen["since"] == "" || sinceVersion && c.seen["version"] != version {
			c.seen["since"] = strconv.FormatInt(time.Now().UnixNano(), 10)
		}
		c.seen["version"] = version
		since, _ := strconv.ParseInt(c.seen["since"], 10, 64)
		if time.Since(time.Unix(0, since)) <= TTL {
			return false, nil
		}
		c.Until = time.Now().Add(TTL)
		return granted(c.eval(`
if redis.call('get', @lock) ~= $version then return 0 end
redis.call('set', @lock, $owner)
return 1`, "version", version))
	}
}

// beat writes the next version of the client's own record. deleteVersion deletes the client's record, regardless of its
// version. A version is the owner value followed by any number of "+".
var (
	beat = script(`
local version = redis.call('get', @lock)
if not version or version:gsub('%+', '') ~= $owner then return 0 end
redis.call('set', @lock, version .. '+')
return 1`)
	deleteVersion = script(`
local version = redis.call('get', @lock)
if not version or version:gsub('%+', '') ~= $owner then return 0 end
return redis.call('del', @lock)`)
)

// replaceEnded stores the lease's end time as the key's value, and acquires the lock if the previously stored time has
// passed. It uses GETSET, which returns the value that it replaces.
func replaceEnded(c *Call) (bool, error) {
	end := func(value string) time.Time {
		ms, _ := strconv.ParseInt(value, 10, 64)
		return time.UnixMilli(ms)
	}
	own := strconv.FormatInt(c.Until.UnixMilli(), 10)
	c.Until = end(own)
	made, err := granted(c.Do("SETNX", c.key("lock"), own))
	if made || err != nil {
		return made, err
	}
	value, err := c.get()
	if err != nil || value == "" || time.Now().Before(end(value)) {
		return false, err
	}
	reply, err := c.Do("GETSET", c.key("lock"), own)
	was, _ := reply.(string)
	return time.Now().After(end(was)), err
}

// takeJSON and giveJSON store the owner in a JSON value that also has other fields.
var (
	takeJSON = script(`
if redis.call('exists', @lock) == 1 then return 0 end
redis.call('set', @lock, cjson.encode({ttl = $ttl, by = $owner}), 'PX', $ttl)
return 1`)
	giveJSON = script(`
local value = redis.call('get', @lock)
if not value or cjson.decode(value).by ~= $owner then return 0 end
return redis.call('del', @lock)`)
)

// giveReadBack mistakenly compares the key with the value that it has just read from the same key. It should compare
// the key with the client's own value.
func giveReadBack(c *Call) (bool, error) {
	value, err := c.get()
	if err != nil || value == "" {
		return false, err
	}
	return granted(c.eval(
		`if redis.call('get', @lock) == $value then return redis.call('del', @lock) end return 0`, "value", value))
}

func setThenExpire(c *Call) (bool, error) {
	made, err := granted(c.Do("SETNX", c.key("lock"), c.owner))
	if err == nil && made {
		_, err = c.Do("PEXPIRE", c.key("lock"), millis(TTL))
	}
	return made, err
}

// recordKeeps lists the promises of a lock whose leases are measured on the clients' clocks.
var recordKeeps = []Promise{{Quiet, checker.Laws}, {Pauses, locktest.LeaseLaws}, {Network, locktest.LeaseLaws},
	{Restarts, locktest.LeaseLaws}, {Clocks, locktest.LeaseLaws}}

// stringLocks returns the locks that store the owner value in a string.
func stringLocks() []SoundLock {
	return []SoundLock{
		{Recipe: Recipe{Name: "string", Take: setNX, Give: deleteOwn}, Promises: Leased,
			Why: "SET NX never overwrites a key. " +
				"Each attempt has its own value. The release compares it and deletes the key in one step."},
		{Recipe: Recipe{Name: "string-watch", Take: setNX, Give: watching(deleteRead)}, Promises: Leased,
			Why: "EXEC deletes the key only if it is unchanged since GET returned the client's own value."},
		{Recipe: Recipe{Name: "string-per-acquire", Owner: PerAcquire, Take: setNX, Give: deleteOwn}, Promises: Leased,
			Why: "All attempts of one Lock use the same value, " +
				"but until the lock is acquired the only request that uses it is SET NX, " +
				"which does nothing while the key exists."},
		{Recipe: Recipe{Name: "string-undo", Take: setNX, Give: deleteOwn, Undo: deleteOwn}, Promises: Leased,
			Why: "An attempt without an answer is undone with its own value, which no other attempt uses."},
		{Recipe: Recipe{Name: "string-nx-get", Give: deleteOwn, Take: func(c *Call) (bool, error) {
			reply, err := c.Do("SET", c.key("lock"), c.owner, "NX", "GET", "PX", millis(TTL))
			return reply == nil, err
		}}, Promises: Leased,
			Why: "With the option GET the reply is the old value, and nil means that the key was set."},
		{Recipe: Recipe{Name: "string-multi", Take: setAndExpire("NX"), Give: deleteOwn}, Promises: Leased,
			Why: "PEXPIRE NX changes only a key that has no expiry, that is, one that SETNX has just created."},
		{Recipe: Recipe{Name: "string-script", Give: deleteOwn, Take: script(`
if redis.call('exists', @lock) == 1 then return 0 end
redis.call('psetex', @lock, $ttl, $owner)
return 1`)}, Promises: Leased,
			Why: "The script is one step."},
		{Recipe: Recipe{Name: "string-watched-take", Take: watching(setMissing), Give: deleteOwn}, Promises: Leased,
			Why: "EXEC sets the key only if it still does not exist."},
		{Recipe: Recipe{Name: "string-rename", Take: renames("RENAMENX"), Give: deleteOwn}, Promises: Leased,
			Why: "RENAMENX does nothing if the key exists. " +
				"The expiry moves with the key. The expiry and the validity are both measured from the preceding SET."},
		{Recipe: Recipe{Name: "string-json", Take: takeJSON, Give: giveJSON}, Promises: Leased,
			Why: "The release compares the owner that the value contains."},
		{Recipe: Recipe{Name: "string-delex", Version: "8", Take: setNX, Give: func(c *Call) (bool, error) {
			return granted(c.Do("DELEX", c.key("lock"), "IFEQ", c.owner))
		}}, Promises: Leased,
			Why: "DELEX IFEQ compares and deletes in one step."},
		{Recipe: Recipe{Name: "string-cad", Version: "tair", Take: setNX, Give: func(c *Call) (bool, error) {
			return granted(c.Do("CAD", c.key("lock"), c.owner))
		}}, Promises: Leased,
			Why: "CAD compares and deletes in one step."},
		{Recipe: Recipe{Name: "tombstone", Take: takeFree, Give: giveFree}, Promises: Leased,
			Why: "The step that acquires the lock checks that the key has expired, " +
				"or that its owner has written \"free\"."},
		{Recipe: Recipe{Name: "record", Take: replaceStale(true), Give: deleteOwn}, Promises: recordKeeps,
			Why: "No key expires. " +
				"A client that takes over the lock has seen the old version stay unchanged for a whole TTL, " +
				"and the holder's TTL began before it wrote that version."},
		{Recipe: Recipe{Name: "record-with-heartbeat", Take: replaceStale(true), Give: deleteVersion, Renew: beat,
			Renewal: ByWatchdog}, Promises: recordKeeps,
			Why: "Like record, but the holder writes a new version before the TTL of the old one ends, " +
				"and announces the loss if it cannot do so."},
	}
}

var brokenStrings = []BrokenLock{
	{Recipe: Recipe{Name: "string-deletes-blindly", Take: setNX, Give: del}, Of: "string",
		Mistake: "The release is DEL instead of the compare-and-delete script.",
		Trial:   `worker-1 deleted the key "lock" of worker-100`,
		Shows:   atAnothers(removed, "DEL deletes that client's key."), Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "string-two-steps", Take: setNX, Give: ifRead(del)}, Of: "string",
		Mistake: "The release is GET and DEL instead of one script.",
		Shows: []Showing{{Plan: []string{"delay the DEL of client-1 to redis-1 by 6s"}, Way: Way{ownership, removed},
			By: "client-1",
			Why: "GET returns the client's own value at 4 s. The key expires at 8 s, " +
				"and DEL arrives at 10 s, when the client that acquired the lock at 8 s holds it."}},
		Also: []Way{{leaseExclusion, removed}, {leaseExclusion, lateTry}}, Found: []Family{Network}},
	{Recipe: Recipe{Name: "string-one-value-a-client", Owner: PerClient, Take: setNX, Give: deleteOwn},
		Of:      "string",
		Mistake: "A client uses one value for all its locks.",
		Shows: []Showing{{Plan: []string{fmt.Sprintf("delay the %s of client-1 to redis-1 by 6s", ownDeletion)},
			Clients: 1,
			Way:     Way{ownership, removed}, By: "client-1", Of: "client-1", Never: []string{"did not compare"},
			Why: "The release of client-1's first lock arrives at 10 s. " +
				"Its second lock, which it has held since 8 s, has the same value."}},
		Also: []Way{{leaseExclusion, removed}, {leaseExclusion, lateTry}}, Found: []Family{Network}},
	{Recipe: Recipe{Name: "string-undo-of-all-tries", Owner: PerAcquire, Take: setNX, Give: deleteOwn,
		Undo: deleteOwn}, Of: "string-undo",
		Mistake: "All attempts of one Lock use the same value, " +
			"so the request that undoes one of them may undo a later one.",
		Shows: []Showing{{Plan: []string{"delay the answer to the SET of client-1 to redis-1 by 1s",
			fmt.Sprintf("delay the %s of client-1 to redis-1 by 8500ms", ownDeletion)}, Clients: 2, Seeds: 10,
			Way: Way{leaseExclusion, lateTry}, By: "client-1", Never: []string{"did not compare"},
			Why: "client-1 does not learn in time that its first SET has set the key, " +
				"and undoes it with a script that arrives at 9 s. At 8 s, the key expires. " +
				"If client-1 is the first to retry after that, it sets the key again with the same value, " +
				"and the script deletes it: client-2 acquires the lock while the lease lasts."}},
		Also: []Way{{ownership, removed}, {leaseExclusion, removed}}, Found: []Family{Network}},
	{Recipe: Recipe{Name: "string-one-value-for-all", Owner: Nobody, Take: setNX, Give: deleteOwn}, Of: "string",
		Mistake: "All clients use the same value.",
		Trial:   `worker-1 deleted the key "lock" of worker-100`,
		Shows: atAnothers(removed, "The script finds the value that all clients use, and deletes that client's key.",
			"did not compare"), Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "string-read-back", Take: setNX, Give: giveReadBack}, Of: "string",
		Mistake: "The release compares the key with the value that it has just read, whoever the owner is.",
		Trial:   `worker-1 deleted the key "lock" of worker-100`,
		Shows: atAnothers(removed, "GET reads that client's value, "+
			"and the script finds it and deletes that client's key.",
			"did not compare"), Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "string-overwrites", Take: setAlways, Give: deleteOwn}, Of: "string",
		Mistake: "The key is set by SET without NX.", Trial: "Lock of worker-1 returned nil after ",
		Shows: atFirst(overwritten, "client-2 sets the key 10 ms after client-1."), Found: []Family{Quiet}},
	{Recipe: Recipe{Name: "string-expires-later", Take: setThenExpire, Give: deleteOwn}, Of: "string",
		Mistake: "The key is set by SETNX, and PEXPIRE follows in a separate request.",
		Shows: []Showing{{Plan: []string{"delay the answer to the SETNX of client-1 to redis-1 by 1s"},
			Way: Way{deadlock, abandoned}, By: "client-1",
			Why: "client-1 waits 500 ms for the answer and retries with another value. Its first key has no expiry, " +
				"and nobody deletes it."}},
		Found: []Family{Network}},
	{Recipe: Recipe{Name: "string-kept-for-a-while", Take: setNX, Give: func(c *Call) (bool, error) {
		return granted(c.Do("SET", c.key("lock"), c.owner, "XX", "PX", "1000"))
	}}, Of: "string",
		Mistake: "The release keeps the lock for another second with SET XX, " +
			"which checks that the key exists, but not who owns it.",
		Trial: `worker-1 .* the key "lock" of worker-100`,
		Shows: atAnothers(overwritten, "SET XX finds that client's key, "+
			"and overwrites it with client-1's value for a second.",
			"whether or not there was one"), Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "string-multi-prolongs", Take: setAndExpire(), Give: deleteOwn}, Of: "string-multi",
		Mistake: "PEXPIRE without NX: every client that asks for the lock extends the holder's key.",
		Trial:   `worker-1 prolonged the key "lock"`,
		Shows:   waitersProlong(), Found: []Family{Quiet}},
	{Recipe: Recipe{Name: "string-unwatched-take", Take: setMissing, Give: deleteOwn}, Of: "string-watched-take",
		Mistake: "There is no WATCH before GET.",
		Shows: lateSet("EXEC", "client-1 finds no key. 10 ms later, client-2 finds none either, so it sets its own. "+
			"client-1's transaction arrives after that."), Found: []Family{Network}},
	{Recipe: Recipe{Name: "string-watched-take-without-multi", Take: watching(setIfMissing), Give: deleteOwn},
		Of:      "string-watched-take",
		Mistake: "SET is sent without MULTI and EXEC, so WATCH has no effect.",
		Shows: saying(lateSet("SET", "client-1 finds no key. "+
			"10 ms later, client-2 finds none either, so it sets its own. "+
			"client-1's SET arrives after that."), "in a transaction"), Found: []Family{Network}},
	{Recipe: Recipe{Name: "string-watch-without-multi", Take: setNX, Give: watching(ifRead(del))},
		Of:      "string-watch",
		Mistake: "DEL is sent without MULTI and EXEC, so WATCH has no effect.",
		Shows: []Showing{{Plan: []string{"delay the DEL of client-1 to redis-1 by 6s"}, Way: Way{ownership, removed},
			By: "client-1", Says: []string{"in a transaction"},
			Why: "GET returns the client's own value at 4 s, and DEL arrives at 10 s."}},
		Also: []Way{{leaseExclusion, removed}, {leaseExclusion, lateTry}}, Found: []Family{Network}},
	{Recipe: Recipe{Name: "string-rename-overwrites", Take: renames("RENAME"), Give: deleteOwn},
		Of:      "string-rename",
		Mistake: "The key is renamed by RENAME instead of RENAMENX.", Trial: "Lock of worker-1 returned nil after ",
		Shows: atFirst(overwritten, "client-2 renames its key to the lock's key."), Found: []Family{Quiet}},
}

// brokenRecords returns broken locks whose string says whether the lock is free, when it was acquired, or when its
// lease ends.
func brokenRecords() []BrokenLock {
	return []BrokenLock{
		{Recipe: Recipe{Name: "tombstone-blind", Take: takeFree, Give: func(c *Call) (bool, error) {
			return granted(c.Do("SET", c.key("lock"), "free"))
		}}, Of: "tombstone",
			Mistake: "The release writes \"free\" without checking the owner.",
			Trial:   `worker-1 .* the key "lock" of worker-100`,
			Shows: atAnothers(overwritten,
				"SET overwrites that client's value with \"free\"."), Found: []Family{Pauses}},
		{Recipe: Recipe{Name: "tombstone-two-steps", Give: giveFree, Take: func(c *Call) (bool, error) {
			value, err := c.get()
			if err != nil || value != "" && value != "free" {
				return false, err
			}
			return setAlways(c)
		}}, Of: "tombstone",
			Mistake: "The key is read by GET and set by SET instead of by one script.",
			Shows: lateSet("SET", "client-1 finds no key. "+
				"10 ms later, client-2 finds none either, so it sets its own. "+
				"client-1's SET arrives after that."), Found: []Family{Network}},
		{Recipe: Recipe{Name: "record-impatient", Take: replaceStale(false), Give: deleteOwn}, Of: "record",
			Mistake: "The TTL is measured from when the client first found the lock taken, " +
				"even if the version has changed since.",
			Shows: []Showing{{Hold: 6 * time.Second, Way: Way{ownership, overwritten},
				Never: []string{"whether or not there was one", "did not compare"},
				Why: "client-1 holds the lock until 6 s, and one of the other clients after that. " +
					"The third client, which has waited since 0 s, replaces the second client's record at 8 s. " +
					"It compares the version, but has not seen that version for a whole TTL."}},
			Also: []Way{{leaseExclusion, overwritten}}, Found: []Family{Quiet}},
		{Recipe: Recipe{Name: "deadline-getset", Take: replaceEnded, Give: func(c *Call) (bool, error) {
			if !time.Now().Before(c.end()) {
				return false, nil
			}
			return del(c)
		}}, Of: "record",
			Mistake: "GETSET writes before the client knows whether the holder's lease is over, " +
				"and nothing is compared.",
			Shows: []Showing{{Plan: []string{"crash client-1 after acquired",
				"delay the GETSET of client-2 to redis-1 by 300ms"},
				Seeds: 10, Way: Way{ownership, overwritten}, By: "client-2", Of: "client-3",
				Why: "client-1's lease ends at 8 s. If client-2 is the first to see that it has ended, " +
					"its GETSET arrives after client-3's, and overwrites the key of client-3, which holds the lock."}},
			Also: []Way{{ownership, removed}, {leaseExclusion, removed}, {leaseExclusion, overwritten}}, Found: nil},
	}
}

// late is a fault that pauses client-1 until its lease has ended and another client holds the lock. client-1's key
// expires at 8 s. After that, each of the other two clients holds the lock for 4 s.
const late = "pause client-1 for 10s after acquired"

// atAnothers returns the Showings of a lock whose release does not check who holds the lock.
func atAnothers(c checker.Cause, why string, never ...string) []Showing {
	return []Showing{
		{Plan: []string{late}, Way: Way{ownership, c}, By: "client-1", Of: "client-[23]", Never: never,
			Why: "client-1 releases the lock while another client holds it. " + why},
		{Plan: []string{late}, Way: Way{leaseExclusion, c}, By: "client-1", Of: "client-[23]", Never: never,
			Why: "Then the third client acquires the lock while the second client's lease is still valid."},
	}
}

// atFirst returns the Showings of a lock that a second client can acquire while the first client is still holding it.
func atFirst(c checker.Cause, why string) []Showing {
	return []Showing{
		{Way: Way{ownership, c}, By: "client-2", Of: "client-1", Why: why},
		{Way: Way{leaseExclusion, c}, By: "client-2", Of: "client-1", Why: why + " Then both hold the lock."},
	}
}

// waitersProlong returns the Showings of a lock whose lease is extended whenever another client requests the lock.
func waitersProlong() []Showing {
	return []Showing{
		{Way: Way{ownership, prolongedBy}, By: "client-2", Of: "client-1",
			Why: "client-2 asks for the lock 10 ms after client-1, which holds it."},
		{Plan: []string{"crash client-1 after acquired"}, Way: Way{deadlock, crashed}, By: "client-1",
			Why: "The two waiting clients ask every 100 ms, so the key of client-1, which has crashed, never expires."},
	}
}

// saying sets, in each Showing, the text that its explanation must contain.
func saying(all []Showing, words ...string) []Showing {
	for i := range all {
		all[i].Says = words
	}
	return all
}

// lateSet returns the Showings of a lock whose client first finds that the key is absent, and then sets it with a
// separate request, which is delayed.
func lateSet(command, why string) []Showing {
	plan := []string{fmt.Sprintf("delay the %s of client-1 to redis-1 by 300ms", command)}
	return []Showing{
		{Plan: plan, Way: Way{ownership, overwritten}, By: "client-1", Of: "client-2", Why: why},
		{Plan: plan, Way: Way{leaseExclusion, overwritten}, By: "client-1", Of: "client-2",
			Why: why + " Then both hold the lock."},
	}
}
