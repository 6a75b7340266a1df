package homemade

import "time"

// This file defines locks that are stored as a list or a counter, have several keys, are renewed, or use several
// servers.

var (
	takeList = script(`
if redis.call('llen', @lock) > 0 then return 0 end
redis.call('lpush', @lock, $owner)
redis.call('pexpire', @lock, $ttl)
return 1`)
	giveList = script(`if redis.call('lindex', @lock, 0) == $owner then return redis.call('del', @lock) end return 0`)
)

// popToken pops the token from the list. The first client to arrive puts the token there.
func popToken(c *Call) (bool, error) {
	if _, err := c.eval(`
if redis.call('set', @made, '1', 'nx') then redis.call('rpush', @lock, 'token') end
return 1`); err != nil {
		return false, err
	}
	reply, err := c.wait(time.Second+patience, "BLPOP", c.key("lock"), "1")
	return reply != nil, err
}

func pushToken(c *Call) (bool, error) { return granted(c.Do("RPUSH", c.key("lock"), "token")) }

// waitsForSignal returns a step that sets the key if it does not exist. Otherwise, the step waits for the signal that a
// releasing client pushes onto a list, and then continues with the given step.
func waitsForSignal(then Step) Step {
	return func(c *Call) (bool, error) {
		if taken, err := setNX(c); taken || err != nil {
			return taken, err
		}
		signal, err := c.wait(time.Second+patience, "BLPOP", c.key("signal"), "1")
		if err != nil || signal == nil {
			return false, err
		}
		c.Until = time.Now().Add(TTL)
		return then(c)
	}
}

var giveSignal = script(`
if redis.call('get', @lock) ~= $owner then return 0 end
redis.call('del', @lock)
redis.call('lpush', @signal, '1')
redis.call('ltrim', @signal, 0, 0)
redis.call('pexpire', @signal, $ttl)
return 1`)

// takeCounter increments a counter. The client whose increment makes it 1 holds the lock, and writes its owner value to
// another key.
var (
	takeCounter = script(`
if redis.call('incr', @lock) > 1 then return 0 end
redis.call('pexpire', @lock, $ttl)
redis.call('psetex', @owner, $ttl, $owner)
return 1`)
	giveCounter = script(`
if redis.call('get', @owner) ~= $owner then return 0 end
redis.call('del', @owner)
return redis.call('del', @lock)`)
)

var (
	takePair = script(`
if redis.call('exists', @lock) == 1 or redis.call('exists', @twin) == 1 then return 0 end
redis.call('set', @lock, $owner, 'px', $ttl)
redis.call('set', @twin, $owner, 'px', $ttl)
return 1`)
	givePair = script(`
if redis.call('get', @lock) ~= $owner or redis.call('get', @twin) ~= $owner then return 0 end
return redis.call('del', @twin, @lock)`)
)

// takeToken sets the key and increments the token in one step.
func takeToken(c *Call) (taken bool, err error) {
	reply, err := c.eval(`
if not redis.call('set', @lock, $owner, 'px', $ttl, 'nx') then return 0 end
return redis.call('incr', @fence)`)
	c.Token, _ = reply.(int64)
	return c.Token > 0, err
}

// takeTokenFirst increments the token in one request and sets the key in another.
func takeTokenFirst(c *Call) (taken bool, err error) {
	reply, err := c.Do("INCR", c.key("fence"))
	if err != nil {
		return false, err
	}
	c.Token, _ = reply.(int64)
	return setNX(c)
}

// takeTurn makes waiting clients form a queue. A waiter that has been silent for three seconds is removed from the
// queue.
func takeTurn(condition string) Step {
	return script(`
redis.call('set', @alive .. $owner, '1', 'px', 3000)
if redis.call('lpos', @line, $owner) == false then redis.call('rpush', @line, $owner) end
local head = redis.call('lindex', @line, 0)
while head and redis.call('exists', @alive .. head) == 0 do
  redis.call('lpop', @line)
  head = redis.call('lindex', @line, 0)
end
if head ~= $owner then return 0 end
if not redis.call('set', @lock, $owner, 'px', $ttl` + condition + `) then return 0 end
redis.call('lpop', @line)
return 1`)
}

// takeHanded acquires the lock if its key does not exist, or if it was handed over to this client. In the latter case,
// the lease has been running since the handover. If the lock belongs to another client, takeHanded joins a queue.
func takeHanded(c *Call) (bool, error) {
	reply, err := c.eval(`
local holder = redis.call('get', @lock)
if not holder then
  redis.call('lrem', @line, 0, $owner)
  redis.call('set', @lock, $owner, 'px', $ttl)
  return tonumber($ttl)
end
if holder == $owner then return redis.call('pttl', @lock) end
if redis.call('lpos', @line, $owner) == false then redis.call('rpush', @line, $owner) end
redis.call('pexpire', @line, $ttl)
return 0`)
	left, _ := reply.(int64)
	c.Until = c.Until.Add(time.Duration(left)*time.Millisecond - TTL)
	return left > 0, err
}

// handsOver returns a release that does nothing if condition, a Lua expression, is true. Otherwise, it hands the lock
// over to the next client in the queue, or deletes the key if the queue is empty.
func handsOver(condition string) Step {
	return script(`
if ` + condition + ` then return 0 end
local next = redis.call('lpop', @line)
if next then redis.call('set', @lock, next, 'px', $ttl) else redis.call('del', @lock) end
return 1`)
}

// severalLocks returns correct locks from four groups: locks stored as a list or a counter, locks with several keys,
// renewed locks, and a lock on several servers.
func severalLocks() []SoundLock {
	return []SoundLock{
		{Recipe: Recipe{Name: "list", Take: takeList, Give: giveList}, Promises: Leased,
			Why: "An element is pushed only if the list does not exist, and the release compares the element."},
		{Recipe: Recipe{Name: "list-token", Take: popToken, Give: pushToken}, Promises: Faultless,
			Why: "There is one token, and only one client can pop it. " +
				"The token does not expire, so a fault may lose it forever."},
		{Recipe: Recipe{Name: "signal", Take: waitsForSignal(setNX), Give: giveSignal}, Promises: Leased,
			Why: "The signal only ends the wait; SET NX decides who gets the lock."},
		{Recipe: Recipe{Name: "counter", Take: takeCounter, Give: giveCounter}, Promises: Leased,
			Why: "The client that raises the counter to 1 holds the lock. " +
				"Increments by other clients change neither the owner nor the expiry."},
		{Recipe: Recipe{Name: "counter-alone", Take: script(`
if redis.call('incr', @lock) > 1 then return 0 end
redis.call('pexpire', @lock, $ttl)
return 1`), Give: del}, Promises: Faultless, Late: true,
			Why: "As long as no client is late, each client deletes only a counter that it has raised to 1 itself."},
		{Recipe: Recipe{Name: "pair", Also: []string{"twin"}, Take: takePair, Give: givePair}, Promises: Leased,
			Why: "Both keys are compared, set and deleted in one step."},
		{Recipe: Recipe{Name: "token", Take: takeToken, Give: deleteOwn, Fences: true}, Promises: Tokened,
			Why: "The token is incremented in the step that sets the key."},
		{Recipe: Recipe{Name: "line", Owner: PerAcquire, Take: takeTurn(", 'nx'"), Give: deleteOwn}, Promises: Leased,
			Why: "The queue determines whose turn it is, and SET NX whether the lock is free."},
		{Recipe: Recipe{Name: "hand-over", Owner: PerAcquire, Says: true, Take: takeHanded,
			Give: handsOver(`redis.call('get', @lock) ~= $owner`)}, Promises: Leased,
			Why: "The owner itself writes the next client's value into its own key, " +
				"and the next client relies only on the key's remaining time."},
		{Recipe: Recipe{Name: "watchdog", Take: setNX, Give: deleteOwn, Renew: prolongOwn, Renewal: ByWatchdog},
			Promises: Leased,
			Why: "The watchdog checks the owner before it extends the key, " +
				"and announces the loss of the lock when the lease ends."},
		{Recipe: Recipe{Name: "extended", Take: setNX, Give: deleteOwn, Renew: prolongOwn, Renewal: ByUser},
			Promises: Leased, Why: "Extend checks the owner before it extends the key."},
		{Recipe: Recipe{Name: "extended-by-set", Version: "8", Take: setNX, Give: deleteOwn, Renewal: ByUser,
			Renew: func(c *Call) (bool, error) {
				return granted(c.Do("SET", c.key("lock"), c.owner, "IFEQ", c.owner, "PX", millis(TTL)))
			}}, Promises: Leased,
			Why: "SET IFEQ sets the key only if it has the client's own value."},
		{Recipe: Recipe{Name: "quorum", Servers: 3, Take: setNX, Give: deleteOwn, Undo: deleteOwn}, Promises: Leased,
			Why: "Two of three servers have the key, " +
				"and the client starts measuring the validity before the first request."},
	}
}

var brokenSeveral = []BrokenLock{
	{Recipe: Recipe{Name: "list-pops", Take: takeList, Give: func(c *Call) (bool, error) {
		reply, err := c.Do("LPOP", c.key("lock"))
		return reply != nil, err
	}}, Of: "list",
		Mistake: "The release pops the element, whoever owns it.",
		Trial:   `worker-1 deleted the key "lock" of worker-100`,
		Shows: atAnothers(removed, "LPOP removes that client's element, "+
			"and the list ceases to exist."), Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "list-token-lost", Take: popToken, Give: pushToken}, Of: "list-token",
		Mistake: "The lock is used even though an answer may get lost.",
		Shows: []Showing{
			{Plan: []string{"break client-1 | redis-1 before the answer to the BLPOP"},
				Way: Way{deadlock, nobodyHolds},
				Why: "The server has taken the token out of the list, and nobody has received it."},
			{Plan: []string{"delay the BLPOP of client-1 to redis-1 by 100ms",
				"break client-2 | redis-1 before the answer to the BLPOP"},
				Way: Way{deadlock, nobodyHolds},
				Why: "The same happens to a token that client-1 has created. " +
					"The token never meant that client-1 held the lock, so client-2 may take it."}},
		// When the token is lost, nobody holds the lock, but attempts to acquire it cannot succeed either.
		Also: []Way{{tolerance, notInTime}}, Found: []Family{Network}},
	{Recipe: Recipe{Name: "list-token-doubles", Take: popToken, Give: func(c *Call) (bool, error) {
		return granted(c.Do("RPUSH", c.key("lock"), "token", "token"))
	}}, Of: "list-token",
		Mistake: "The release puts two tokens back.",
		Trial:   "Lock of worker-100 returned nil after ",
		Shows: []Showing{{Way: Way{leaseExclusion, twice},
			Why: "After the first release there are two tokens, and the two waiting clients take one each."}},
		Found: []Family{Quiet}},
	{Recipe: Recipe{Name: "signal-takes-over", Give: giveSignal, Take: waitsForSignal(setAlways)}, Of: "signal",
		Mistake: "The client that receives the signal sets the key without NX.",
		Shows: []Showing{
			{Hold: 50 * time.Millisecond, Cycles: 6, Seeds: 10, Way: Way{ownership, overwritten},
				Why: "The lock is held only briefly, so a release often finds nobody waiting, " +
					"and its signal stays in the list. The next client acquires the lock by SET NX. " +
					"The client after that immediately receives the old signal and overwrites the holder's key."},
			{Hold: 50 * time.Millisecond, Cycles: 6, Seeds: 10, Way: Way{leaseExclusion, overwritten},
				Why: "Then both hold the lock."}},
		Found: []Family{Network}},
	{Recipe: Recipe{Name: "counter-deletes-blindly", Take: takeCounter, Give: del}, Of: "counter",
		Mistake: "The release deletes the counter, whoever raised it to 1.",
		Trial:   `worker-1 deleted the key "lock" of worker-100`,
		Shows:   atAnothers(removed, "DEL deletes that client's counter."), Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "counter-prolongs", Give: giveCounter, Take: script(`
local n = redis.call('incr', @lock)
redis.call('pexpire', @lock, $ttl)
if n > 1 then return 0 end
redis.call('psetex', @owner, $ttl, $owner)
return 1`)}, Of: "counter",
		Mistake: "PEXPIRE is outside the condition: every client that asks for the lock extends the holder's key.",
		Trial:   `worker-1 prolonged the key "lock"`, Shows: waitersProlong(), Found: []Family{Quiet}},
	{Recipe: Recipe{Name: "pair-compares-one", Also: []string{"twin"}, Take: takePair, Give: script(`
redis.call('del', @twin)
if redis.call('get', @lock) ~= $owner then return 0 end
return redis.call('del', @lock)`)}, Of: "pair",
		Mistake: "The release deletes the second key without checking the owner.",
		Trial:   `worker-1 deleted the key "lock:twin" of worker-100`,
		// The first key still keeps the other clients out.
		Shows: atAnothers(removed, "DEL deletes that client's second key.")[:1], Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "token-drawn-first", Take: takeTokenFirst, Give: deleteOwn, Fences: true}, Of: "token",
		Mistake: "The token is incremented before the key is set, in a separate request.",
		Shows: []Showing{{Plan: []string{"delay the answer to the INCR of client-1 to redis-1 by 400ms"},
			Hold: 100 * time.Millisecond, Seeds: 10, Way: Way{tokenOrder, wentBack}, By: "client-1",
			Why: "client-1 increments the token to 1 and learns it 400 ms later. " +
				"Meanwhile, client-2 increments it to 2 and holds the lock for 100 ms. " +
				"If client-1 then finds the lock free, it acquires the lock with token 1."}},
		// client-2 must release the lock while client-1 is still waiting for the reply with its token, which takes up
		// to 500 ms.
		Found: []Family{Network}, Hold: 100 * time.Millisecond},
	{Recipe: Recipe{Name: "line-sets-in-turn", Owner: PerAcquire, Take: takeTurn(""), Give: deleteOwn}, Of: "line",
		Mistake: "The first client in the queue sets the key without NX.",
		Trial:   "Lock of worker-1 returned nil after ",
		Shows: atFirst(overwritten, "client-1 left the queue when it acquired the lock, "+
			"so client-2 is now first in the queue."),
		Found: []Family{Quiet}},
	{Recipe: Recipe{Name: "hand-over-blindly", Owner: PerAcquire, Says: true, Take: takeHanded,
		Give: handsOver(`false`)},
		Of:      "hand-over",
		Mistake: "The release hands the lock over without checking the owner.",
		Trial:   `worker-1 .* the key "lock" of worker-100`,
		Shows:   atAnothers(overwritten, "SET overwrites that client's value with the value of the waiting client."),
		Also:    []Way{{ownership, removed}, {leaseExclusion, removed}}, Found: []Family{Pauses}},
}

// brokenEnds lists broken locks that end the lease or release the lock incorrectly, and broken locks on several
// servers.
var brokenEnds = []BrokenLock{
	{Recipe: Recipe{Name: "watchdog-prolongs-blindly", Take: setNX, Give: deleteOwn, Renewal: ByWatchdog,
		Renew: func(c *Call) (bool, error) { return granted(c.Do("PEXPIRE", c.key("lock"), millis(TTL))) }},
		Of:      "watchdog",
		Mistake: "The watchdog extends the key, whoever owns it.",
		Shows: []Showing{{Plan: []string{
			"delay the PEXPIRE of client-1 to redis-1 by 7s"}, Way: Way{ownership, prolongedBy},
			By: "client-1",
			Why: "The watchdog sends its request at 2.7 s. client-1 releases the lock at 4 s. " +
				"The request arrives at 9.7 s, when another client holds the lock."}},
		Also: []Way{{leaseExclusion, prolongedBy}, {leaseExclusion, goneKey}}, Found: []Family{Network}},
	{Recipe: Recipe{Name: "watchdog-never-renews", Take: setNX, Give: deleteOwn, Renewal: Asleep}, Of: "watchdog",
		Mistake: "The watchdog is never started.", Trial: `the key "lock" of worker-1 expired .* without a renewal`,
		Shows: []Showing{{Hold: 20 * time.Second, Way: Way{mutual, neverRenewed}, By: "client-1",
			Why: "client-1 works for 20 s. Its key expires at 8 s, because nobody has extended it."}},
		Also: []Way{{leaseExclusion, neverRenewed}}},
	{Recipe: Recipe{Name: "extended-overwrites", Take: setNX, Give: deleteOwn, Renewal: ByUser,
		Renew: func(c *Call) (bool, error) { return granted(c.set("XX")) }}, Of: "extended-by-set",
		Mistake: "Extend uses SET XX instead of SET IFEQ: the key exists, but another client may own it.",
		Shows: []Showing{{Plan: []string{"pause client-1 for 10s after before-extend"}, Hold: 12 * time.Second,
			Way: Way{ownership, overwritten}, By: "client-1", Of: "client-[23]",
			Never: []string{"whether or not there was one"},
			Why:   "client-1 extends its lock at 12.7 s. Another client has held the lock since 8 s."}},
		Also: []Way{{leaseExclusion, overwritten}}, Found: []Family{Pauses}},
	{Recipe: Recipe{Name: "extended-two-steps", Take: setNX, Give: deleteOwn, Renewal: ByUser,
		Renew: ifRead(func(c *Call) (bool, error) { return granted(c.Do("PEXPIRE", c.key("lock"), millis(TTL))) })},
		Of:      "extended",
		Mistake: "Extend uses GET and PEXPIRE instead of one script.",
		Shows: []Showing{{Plan: []string{
			"delay the PEXPIRE of client-1 to redis-1 by 7s"}, Way: Way{ownership, prolongedBy},
			By: "client-1",
			Why: "GET returns the client's own value at 2.7 s. " +
				"The lock is released at 4 s, and PEXPIRE arrives at 9.7 s, when another client holds the lock."}},
		Found: []Family{Network}},
	{Recipe: Recipe{Name: "string-counts-from-the-reply", Take: setNX, Give: deleteOwn, CountsFromReply: true},
		Of:      "string",
		Mistake: "The validity is measured from the reply, so it ends after the key has expired.",
		Shows: []Showing{{Plan: []string{
			"delay the answer to the SET of client-1 to redis-1 by 400ms"}, Hold: 9 * time.Second,
			Way: Way{leaseExclusion, miscounted}, By: "client-1",
			Why: "The key is set at 0 s and expires at 8 s. " +
				"client-1 relies on the lock until 8.4 s, and another client asks for it every 100 ms."}},
		// Two leases overlap only if the client is still holding the lock when its key expires.
		Found: []Family{Network}, Hold: 9 * time.Second},
	{Recipe: Recipe{Name: "quorum-of-one", Servers: 3, Quorum: 1, Take: setNX, Give: deleteOwn, Undo: deleteOwn},
		Of:      "quorum",
		Mistake: "One server of three is enough.",
		Shows: []Showing{{Plan: []string{"cut client-1 | redis-1 redis-2 at 0s for 3s"},
			Way: Way{leaseExclusion, withoutQuorum},
			Why: "client-1 has the lock on redis-3, and client-2 on redis-1 and redis-2."}},
		Found: []Family{Network}},
	{Recipe: Recipe{Name: "quorum-counts-from-the-reply", Servers: 3, Take: setNX, Give: deleteOwn, Undo: deleteOwn,
		CountsFromReply: true}, Of: "quorum",
		Mistake: "The validity is measured from the last reply, so it ends after the keys have expired.",
		Shows: []Showing{{Plan: []string{
			"delay the answer to the SET of client-1 to redis-1 by 450ms"}, Hold: 9 * time.Second,
			Way: Way{leaseExclusion, miscounted}, By: "client-1",
			Why: "The keys are set at 0 s and expire at 8 s. " +
				"client-1 subtracts 82 ms for clock drift, and still relies on the lock until 8.37 s."}},
		// The lock must be held for 9 s, for the same reason as for the broken lock string-counts-from-the-reply.
		Found: []Family{Network}, Hold: 9 * time.Second},
	{Recipe: Recipe{Name: "string-not-given-back", Take: setNX, Unchecked: true,
		Give: func(c *Call) (bool, error) { return true, nil }}, Of: "string",
		Mistake: "Unlock does nothing.", Trial: `the key "lock" still existed after Unlock of worker-10`,
		Shows: []Showing{{Way: Way{tolerance, withoutEffect}, By: "client-1",
			Why: "Unlock returns nil at 4 s, and the key stays until 8 s."}}},
	{Recipe: Recipe{Name: "string-wrong-key", Take: setNX, Unchecked: true, Give: script(
		`if redis.call('get', @other) == $owner then return redis.call('del', @other) end return 0`)}, Of: "string",
		Mistake: "The release uses another key.",
		Trial:   `the key "lock" still existed after Unlock of worker-10`,
		Shows: []Showing{{Way: Way{tolerance, withoutEffect}, By: "client-1",
			Why: "Unlock returns nil at 4 s, and the key stays until 8 s."}}},
}
