package homemade

import "errors"

// This file defines locks that use Redis 7.0 and 8.0 features: functions, and hash fields with their own deadlines.

// takeTimed sets a field with a deadline, unless the field exists. giveTimed deletes the field if it contains the owner
// value. prolongTimed extends the field's deadline under the same condition.
func takeTimed(c *Call) (bool, error) {
	return granted(c.Do("HSETEX", c.key("lock"), "FNX", "PX", millis(TTL), "FIELDS", "1", "owner", c.owner))
}

var (
	giveTimed = script(
		`if redis.call('hget', @lock, 'owner') == $owner then return redis.call('hdel', @lock, 'owner') end return 0`)
	prolongTimed = script(`
if redis.call('hget', @lock, 'owner') ~= $owner then return 0 end
return redis.call('hpexpire', @lock, $ttl, 'fields', 1, 'owner')[1]`)
)

// library returns a function library. give is the body of the function that releases the lock.
func library(give string) string {
	return "#!lua name=homemade\n" + `
redis.register_function('take', function(keys, args)
  if redis.call('exists', keys[1]) == 1 then return 0 end
  redis.call('set', keys[1], args[1], 'px', args[2])
  return 1
end)
redis.register_function('give', function(keys, args)
  ` + give + `
end)`
}

// called returns a Step that calls a library function. It loads the library if the server does not have it.
func called(function, library string) Step {
	return func(c *Call) (bool, error) {
		call := []string{"FCALL", function, "1", c.key("lock"), c.owner, millis(TTL)}
		reply, err := c.Do(call...)
		if refused := ReplyError(""); !errors.As(err, &refused) || refused != "ERR Function not found" {
			return granted(reply, err)
		}
		if _, err := c.Do("FUNCTION", "LOAD", "REPLACE", library); err != nil {
			return false, err
		}
		return granted(c.Do(call...))
	}
}

var (
	comparing = library("if redis.call('get', keys[1]) == args[1] then return redis.call('del', keys[1]) end return 0")
	blind     = library("return redis.call('del', keys[1])")
)

// laterLocks returns the sound locks that use Redis 7.0 and 8.0 features.
func laterLocks() []SoundLock {
	return []SoundLock{
		{Recipe: Recipe{Name: "function", Take: called("take", comparing), Give: called("give", comparing)},
			Promises: Leased, Why: "A function is atomic, like a script, and its library survives a restart."},
		{Recipe: Recipe{Name: "timed-field", Version: "8", Take: takeTimed, Give: giveTimed}, Promises: Leased,
			Why: "HSETEX FNX sets the field, with its deadline, only if it does not exist. " +
				"The release compares the field and deletes it in one step."},
		{Recipe: Recipe{Name: "timed-field-watchdog", Version: "8", Take: takeTimed, Give: giveTimed,
			Renew: prolongTimed, Renewal: ByWatchdog}, Promises: Leased,
			Why: "The watchdog moves the deadline of the field only if it contains the owner value."},
	}
}

// brokenLater lists broken locks that use Redis 7.0 and 8.0 features.
var brokenLater = []BrokenLock{
	{Recipe: Recipe{Name: "function-deletes-blindly", Take: called("take", blind), Give: called("give", blind)},
		Of:      "function",
		Mistake: "The function that releases the lock does not check the owner.",
		Trial:   `worker-1 deleted the key "lock" of worker-100`,
		Shows:   atAnothers(removed, "The function deletes that client's key."), Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "timed-field-deletes-blindly", Version: "8", Take: takeTimed,
		Give: func(c *Call) (bool, error) { return granted(c.Do("HDEL", c.key("lock"), "owner")) }}, Of: "timed-field",
		Mistake: "The release is HDEL, which does not compare the value of the field.",
		Trial:   `worker-1 deleted the key "lock" of worker-100`,
		Shows:   atAnothers(removed, "HDEL deletes that client's field."), Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "timed-field-overwrites", Version: "8", Give: giveTimed, Take: func(c *Call) (bool, error) {
		return granted(c.Do("HSETEX", c.key("lock"), "PX", millis(TTL), "FIELDS", "1", "owner", c.owner))
	}}, Of: "timed-field",
		Mistake: "The field is set by HSETEX without FNX.", Trial: "Lock of worker-1 returned nil after ",
		Shows: atFirst(overwritten, "client-2 sets the field 10 ms after client-1."), Found: []Family{Quiet}},
	{Recipe: Recipe{Name: "timed-field-expires-later", Version: "8", Give: giveTimed,
		Take: func(c *Call) (bool, error) {
			made, err := granted(c.Do("HSETNX", c.key("lock"), "owner", c.owner))
			if err == nil && made {
				_, err = c.Do("HPEXPIRE", c.key("lock"), millis(TTL), "FIELDS", "1", "owner")
			}
			return made, err
		}}, Of: "timed-field",
		Mistake: "The field is set by HSETNX, and HPEXPIRE follows in a separate request.",
		Shows: []Showing{{Plan: []string{"delay the answer to the HSETNX of client-1 to redis-1 by 1s"},
			Way: Way{deadlock, abandoned}, By: "client-1",
			Why: "client-1 waits 500 ms for the answer and retries with another value. " +
				"Its first field has no deadline, and nobody deletes it."}},
		Found: []Family{Network}},
	{Recipe: Recipe{Name: "timed-field-prolongs-blindly", Version: "8", Take: takeTimed, Give: giveTimed,
		Renewal: ByWatchdog, Renew: func(c *Call) (bool, error) {
			_, err := c.Do("HPEXPIRE", c.key("lock"), millis(TTL), "FIELDS", "1", "owner")
			return err == nil, err
		}}, Of: "timed-field-watchdog",
		Mistake: "The watchdog moves the deadline of the field, whoever set it.",
		Shows: []Showing{{Plan: []string{"delay the HPEXPIRE of client-1 to redis-1 by 7s"},
			Way: Way{ownership, prolongedBy}, By: "client-1",
			Why: "The watchdog sends its request at 2.7 s. client-1 releases the lock at 4 s. " +
				"The request arrives at 9.7 s, when another client holds the lock."}},
		Also: []Way{{leaseExclusion, prolongedBy}, {leaseExclusion, goneKey}}, Found: []Family{Network}},
	{Recipe: Recipe{Name: "timed-field-counts-from-the-reply", Version: "8", Take: takeTimed, Give: giveTimed,
		CountsFromReply: true}, Of: "timed-field",
		Mistake: "The validity is measured from the reply, so it ends after the field has expired.",
		Shows: []Showing{{Plan: []string{"delay the answer to the HSETEX of client-1 to redis-1 by 400ms",
			"pause client-1 for 10s after acquired"}, Way: Way{leaseExclusion, miscounted}, By: "client-1",
			Why: "The field expires 8 s after HSETEX, " +
				"and client-1 measures its validity from the answer, 400 ms later."}},
		Found: []Family{Network}},
}
