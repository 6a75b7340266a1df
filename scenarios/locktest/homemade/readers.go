package homemade

// This file defines locks that several readers, or one writer, may hold at the same time.

// takeReader and giveReader use a hash. Every holder sets the "mode" field, and has its own field with the end of its
// lease.
var (
	takeReader = script(`
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local fields = redis.call('hgetall', @lock)
local mode, others = false, 0
for i = 1, #fields, 2 do
  if fields[i] == 'mode' then
    mode = fields[i + 1]
  elseif tonumber(fields[i + 1]) <= now then
    redis.call('hdel', @lock, fields[i])
  else
    others = others + 1
  end
end
if others > 0 and (mode == 'write' or $mode == 'write') then return 0 end
redis.call('hset', @lock, 'mode', $mode)
redis.call('hset', @lock, $owner, now + $ttl)
redis.call('pexpire', @lock, $ttl)
return 1`)
	giveReader = script(`
local mine = redis.call('hdel', @lock, $owner)
if redis.call('hlen', @lock) == 1 then redis.call('del', @lock) end
return mine`)
)

// takeMembers and giveMembers use a sorted set. Its members are the holders with their modes, and the scores are their
// lease end times. A reader waits until no member has the mode blockingMode. A writer waits until there are no members.
func takeMembers(blockingMode string) Step {
	return script(`
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('zremrangebyscore', @lock, '-inf', now)
for _, member in ipairs(redis.call('zrange', @lock, 0, -1)) do
  if $mode == 'write' or string.find(member, '` + blockingMode + `:', 1, true) == 1 then return 0 end
end
redis.call('zadd', @lock, now + $ttl, $mode .. ':' .. $owner)
redis.call('pexpire', @lock, $ttl)
return 1`)
}

var giveMembers = script(`return redis.call('zrem', @lock, $mode .. ':' .. $owner)`)

var readerLocks = []SoundLock{
	{Recipe: Recipe{Name: "hash-readers", Take: takeReader, Give: giveReader, Shared: true}, Promises: Leased,
		Why: "Only readers hold the lock together. Each reader sets the mode to the value that it already has. " +
			"A release deletes the client's own field. It deletes the hash only if no other client has a field in it."},
	{Recipe: Recipe{Name: "zset-readers", Take: takeMembers("write"), Give: giveMembers, Shared: true},
		Promises: Leased,
		Why: "A reader waits for a writer, and a writer waits for everybody. " +
			"A release removes the client's own member."},
}

var brokenReaders = []BrokenLock{
	{Recipe: Recipe{Name: "hash-readers-delete-all", Take: takeReader, Shared: true, Give: script(
		`if redis.call('hexists', @lock, $owner) == 0 then return 0 end return redis.call('del', @lock)`)},
		Of:      "hash-readers",
		Mistake: "The first reader that leaves deletes the hash with the fields of the others.",
		Shows: []Showing{{Way: Way{ownership, removed}, By: "client-[23]", Of: "client-[23]",
			Why: "client-2 and client-3 read at the same time. " +
				"The first of them that leaves deletes the other's field."}},
		Also: []Way{{leaseExclusion, removed}}, Found: []Family{Quiet}},
	{Recipe: Recipe{Name: "zset-readers-overlook-writers", Take: takeMembers("nobody"), Give: giveMembers,
		Shared: true}, Of: "zset-readers",
		Mistake: "A reader does not check whether a writer holds the lock.",
		Shows: []Showing{{Way: Way{leaseExclusion, twice}, Seeds: 3,
			Why: "A reader that asks while client-1 writes is granted the lock. " +
				"No member has disappeared: the server granted the lock to both."}},
		Found: []Family{Quiet}},
}
