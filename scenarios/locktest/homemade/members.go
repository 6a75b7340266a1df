package homemade

import (
	"strconv"
	"time"
)

// This file defines locks stored as a hash, a sorted set or a set.

// takeCount and giveCount use a hash with one field, named after the owner. The field counts how many times the owner
// has acquired the lock.
var (
	takeCount = script(`
if redis.call('exists', @lock) == 0 or redis.call('hexists', @lock, $owner) == 1 then
  redis.call('hincrby', @lock, $owner, 1)
  redis.call('pexpire', @lock, $ttl)
  return 1
end
return 0`)
	giveCount = script(`
if redis.call('hexists', @lock, $owner) == 0 then return 0 end
if redis.call('hincrby', @lock, $owner, -1) <= 0 then redis.call('del', @lock) end
return 1`)
	prolongField = script(`
if redis.call('hexists', @lock, $owner) == 0 then return 0 end
return redis.call('pexpire', @lock, $ttl)`)
)

// takeField and giveField use a hash. Its "owner" field contains the owner value.
var (
	takeField = script(`
if redis.call('hsetnx', @lock, 'owner', $owner) == 0 then return 0 end
redis.call('hset', @lock, 'since', redis.call('time')[1])
redis.call('pexpire', @lock, $ttl)
return 1`)
	giveField = script(
		`if redis.call('hget', @lock, 'owner') == $owner then return redis.call('del', @lock) end return 0`)
)

// takeMode and giveMode acquire and release the write lock of a read-write lock, which is stored as a hash. The hash
// has a "mode" field, and one field per holder that contains the end of its lease.
var (
	takeMode = script(`
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local fields = redis.call('hgetall', @lock)
local others = 0
for i = 1, #fields, 2 do
  if fields[i] ~= 'mode' then
    if tonumber(fields[i + 1]) <= now then redis.call('hdel', @lock, fields[i]) else others = others + 1 end
  end
end
if others > 0 then return 0 end
redis.call('hset', @lock, 'mode', 'write')
redis.call('hset', @lock, $owner, now + $ttl)
redis.call('pexpire', @lock, $ttl)
return 1`)
	giveMode = script(`
local mine = redis.call('hdel', @lock, $owner)
if redis.call('hlen', @lock) == 1 then redis.call('del', @lock) end
return mine`)
)

// takeDeadline uses a hash that does not expire. Its "until" field is the end of the lease by the server's clock. now
// is the Lua expression that the script compares with this field.
func takeDeadline(now string) Step {
	return script(`
local t = redis.call('time')
local now = ` + now + `
local ends = redis.call('hget', @lock, 'until')
if ends and tonumber(ends) > now then return 0 end
redis.call('hset', @lock, 'owner', $owner)
redis.call('hset', @lock, 'until', t[1] * 1000 + math.floor(t[2] / 1000) + $ttl)
return 1`)
}

// takeScore and giveMember use a sorted set of owners. Each owner's score is the end of its lease.
var (
	takeScore = script(`
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('zremrangebyscore', @lock, '-inf', now)
if redis.call('zcard', @lock) > 0 then return 0 end
redis.call('zadd', @lock, now + $ttl, $owner)
redis.call('pexpire', @lock, $ttl)
return 1`)
)

func giveMember(command string) Step {
	return func(c *Call) (bool, error) { return granted(c.Do(command, c.key("lock"), c.owner)) }
}

// addRead reads the set and, if it is empty, adds a member in a separate request.
func addRead(c *Call) (bool, error) {
	n, err := c.Do("ZCARD", c.key("lock"))
	if err != nil || n != int64(0) {
		return false, err
	}
	added, err := granted(c.Do("ZADD", c.key("lock"), strconv.FormatInt(time.Now().Add(TTL).UnixMilli(), 10), c.owner))
	if err == nil {
		_, err = c.Do("PEXPIRE", c.key("lock"), millis(TTL))
	}
	return added, err
}

var takeMember = script(`
if redis.call('scard', @lock) > 0 then return 0 end
redis.call('sadd', @lock, $owner)
redis.call('pexpire', @lock, $ttl)
return 1`)

func memberLocks() []SoundLock {
	return []SoundLock{
		{Recipe: Recipe{Name: "hash-count", Take: takeCount, Give: giveCount}, Promises: Leased,
			Why: "The scripts check that the owner's field exists before they change anything."},
		{Recipe: Recipe{Name: "hash-field", Take: takeField, Give: giveField}, Promises: Leased,
			Why: "HSETNX never overwrites a field, and the release compares the field."},
		{Recipe: Recipe{Name: "hash-mode", Take: takeMode, Give: giveMode}, Promises: Leased,
			Why: "A release deletes the client's own field. " +
				"It deletes the hash only if no other client has a field in it. " +
				"The next client to acquire the lock removes expired fields."},
		{Recipe: Recipe{Name: "hash-deadline", Give: giveField,
			Take: takeDeadline(`t[1] * 1000 + math.floor(t[2] / 1000)`)},
			Promises: Leased,
			Why: "The key never expires, but the lease does: " +
				"the step that acquires the lock checks that the lease is over."},
		{Recipe: Recipe{Name: "hash-watchdog", Take: takeCount, Give: giveCount, Renew: prolongField,
			Renewal: ByWatchdog},
			Promises: Leased, Why: "The watchdog extends the hash only if it contains the owner's field."},
		{Recipe: Recipe{Name: "hash-reentrant", Take: takeCount, Give: giveCount, Renew: prolongField,
			Renewal: ByWatchdog, Inner: Twice},
			Promises: Leased,
			Why: "The work acquires the lock once more. " +
				"The field counts both holds, and the watchdog continues until the last release."},
		{Recipe: Recipe{Name: "zset", Take: takeScore, Give: giveMember("ZREM")}, Promises: Leased,
			Why: "The step that acquires the lock removes expired members and checks that no other member exists. " +
				"A release removes the client's own member."},
		{Recipe: Recipe{Name: "set", Take: takeMember, Give: giveMember("SREM")}, Promises: Leased,
			Why: "A member is added only to an empty set, and a release removes the client's own member."},
	}
}

func brokenMembers() []BrokenLock { return append(brokenHashes(), brokenSets()...) }

func brokenHashes() []BrokenLock {
	return []BrokenLock{
		{Recipe: Recipe{Name: "hash-count-deletes-blindly", Take: takeCount, Give: script(`
if redis.call('hincrby', @lock, $owner, -1) <= 0 then redis.call('del', @lock) end
return 1`)}, Of: "hash-count",
			Mistake: "The release does not check whether the owner's field exists.",
			Trial:   `worker-1 deleted the key "lock" of worker-100`,
			Shows:   atAnothers(removed, "HINCRBY creates client-1's field again, with -1, and DEL deletes the hash."),
			Found:   []Family{Pauses}},
		{Recipe: Recipe{Name: "hash-reentrant-deletes", Take: takeCount, Give: script(`
if redis.call('hexists', @lock, $owner) == 0 then return 0 end
return redis.call('del', @lock)`), Renew: prolongField, Renewal: ByWatchdog, Inner: Twice}, Of: "hash-reentrant",
			Mistake: "The release deletes the hash even if its field is still above 1.",
			Trial:   `worker-10 deleted its own key "lock" before it called Unlock, and worker-1 got the lock as well`,
			Shows: []Showing{{Way: Way{leaseExclusion, removedSelf}, By: "client-1",
				Why: "The inner release of client-1 deletes its key, and the next client gets the lock immediately."}},
			Also: []Way{{mutual, removedSelf}, {tolerance, refused}}, Found: []Family{Quiet}},
		{Recipe: Recipe{Name: "hash-reentrant-watchdog-stops", Take: takeCount, Give: giveCount, Renew: prolongField,
			Renewal: ByWatchdog, Inner: TwiceAndStopped}, Of: "hash-reentrant",
			Mistake: "The watchdog ends with the first release, although the client still has the lock.",
			Trial:   `the key "lock" of worker-1 expired .* without a renewal`,
			Shows: []Showing{{Hold: 20 * time.Second, Way: Way{mutual, neverRenewed}, By: "client-1",
				Why: "client-1 works for 20 s. " +
					"The inner release ends its watchdog immediately, and its key expires at 8 s."}},
			Also: []Way{{leaseExclusion, neverRenewed}}},
		{Recipe: Recipe{Name: "hash-field-prolongs", Give: giveField, Take: script(`
local made = redis.call('hsetnx', @lock, 'owner', $owner)
redis.call('pexpire', @lock, $ttl)
return made`)}, Of: "hash-field",
			Mistake: "PEXPIRE is outside the condition: every client that asks for the lock extends the holder's key.",
			Trial:   `worker-1 prolonged the key "lock"`, Shows: waitersProlong(), Found: []Family{Quiet}},
		{Recipe: Recipe{Name: "hash-expires-later", Give: giveField, Take: func(c *Call) (bool, error) {
			made, err := granted(c.Do("HSETNX", c.key("lock"), "owner", c.owner))
			if err == nil && made {
				_, err = c.Do("PEXPIRE", c.key("lock"), millis(TTL))
			}
			return made, err
		}}, Of: "hash-field",
			Mistake: "The field is set by HSETNX, and PEXPIRE follows in a separate request.",
			Shows: []Showing{{Plan: []string{"delay the answer to the HSETNX of client-1 to redis-1 by 1s"},
				Way: Way{deadlock, abandoned}, By: "client-1",
				Why: "client-1 waits 500 ms for the answer and retries with another value. " +
					"Its first hash has no expiry, and nobody deletes it."}},
			Found: []Family{Network}},
		{Recipe: Recipe{Name: "hash-mode-deletes-all", Take: takeMode, Give: del}, Of: "hash-mode",
			Mistake: "The release deletes the hash, whoever owns a field in it.",
			Trial:   `worker-1 deleted the key "lock" of worker-100`,
			Shows:   atAnothers(removed, "DEL deletes the hash with that client's field."), Found: []Family{Pauses}},
		{Recipe: Recipe{Name: "hash-deadline-in-seconds", Take: takeDeadline(`tonumber(t[1])`), Give: giveField},
			Of:      "hash-deadline",
			Mistake: "The end of the lease is in milliseconds and is compared with seconds, so the lease never ends.",
			Shows: []Showing{{Plan: []string{"crash client-1 after acquired"}, Way: Way{deadlock, crashed},
				By: "client-1", Why: "client-1 has crashed, and no client ever notices that its lease is over."}},
			// If a release does not reach the server, the lock stays held forever.
			Also: []Way{{deadlock, abandoned}}, Found: []Family{Restarts}},
	}
}

func brokenSets() []BrokenLock {
	return []BrokenLock{
		{Recipe: Recipe{Name: "zset-removes-the-first", Take: takeScore, Give: func(c *Call) (bool, error) {
			return granted(c.Do("ZREMRANGEBYRANK", c.key("lock"), "0", "0"))
		}}, Of: "zset",
			Mistake: "The release removes the first member, whoever owns it.",
			Trial:   `worker-1 deleted the key "lock" of worker-100`,
			Shows:   atAnothers(removed, "The first member belongs to that client."), Found: []Family{Pauses}},
		{Recipe: Recipe{Name: "zset-two-steps", Take: addRead, Give: giveMember("ZREM")}, Of: "zset",
			Mistake: "The lock is acquired by ZCARD and ZADD instead of by one script.",
			Shows: []Showing{{Plan: []string{"delay the ZADD of client-1 to redis-1 by 300ms"},
				Way: Way{leaseExclusion, twice},
				Why: "client-1 counts no members. 10 ms later, client-2 counts none either and adds its own. " +
					"client-1's member is added after that. No member has disappeared: " +
					"the server granted the lock to both."}},
			// After its late ZADD, client-1 sends PEXPIRE, which extends the set's lifetime, although the set contains
			// client-2's member. If client-1 gets no answer to ZADD, it never sends PEXPIRE, and the set never expires.
			Also: []Way{{ownership, prolongedBy}, {deadlock, abandoned}}, Found: []Family{Network}},
		{Recipe: Recipe{Name: "set-deletes-all", Take: takeMember, Give: del}, Of: "set",
			Mistake: "The release deletes the set, whoever owns a member of it.",
			Trial:   `worker-1 deleted the key "lock" of worker-100`,
			Shows:   atAnothers(removed, "DEL deletes the set with that client's member."), Found: []Family{Pauses}},
	}
}
