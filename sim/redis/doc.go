// Package redis is a simulated Redis master: the program of a server process of the simulator.
//
// miniredis holds the data and carries out the commands that are only about data. What decides whether a lock holds
// is the node's own: deadlines on the wall clock, the append-only file and when it is fsynced, restarts, transactions,
// scripts, and the records of what became of every key.
//
// Goals: a client cannot tell the node from Redis 7.0 by its replies; a key dies at exactly the instant at which Redis
// stops serving it; a crash takes exactly what Redis would lose; the same calls give the same bytes, records and log.
//
// Non-goals: commands whose reply is random or comes unasked (SPOP, publish/subscribe, blocking pops), streams, several
// databases, eviction, cluster. They are refused with an error that names fencepost, never answered wrongly.
//
// # Expiry
//
// A deadline is an absolute time in whole milliseconds on the node's wall clock, and a key is expired once the clock's
// whole milliseconds are strictly greater. So a forward jump of the clock ends keys early and a backward jump lets them
// live longer. Redis also deletes expired keys in the background, in a cycle that is coarser; as it never serves a key
// past its deadline, clients cannot see the difference, and the node removes each key at the instant it dies.
//
// # Persistence
//
// The append-only file is a log of effects: relative expiries have become absolute, scripts and transactions are the
// writes they made, an expired key is a deletion. See [Persistence] for what a power loss leaves of it. A background
// fsync goes on while the process is paused, as the kernel's work does. Rewriting the file is not modelled.
//
// # Records
//
// key-set, key-prolonged and key-gone name the attempt that owns the key: the one that set it last. RENAME and COPY hand
// the owner on with the value. A record's Until is the first instant at which the key is no longer served. After a
// restart the data is compared with what it was: what a crash took back to an earlier value, owner or deadline has a
// key-gone and a key-set with an empty By.
//
// # Scripts
//
// Scripts run in gopher-lua, sealed; well-known ones are carried out in Go (twins.go). Known differences from Redis:
// the wording of Lua's own errors; numbers that are no integers below 1e15, when the operator .. writes them; and the
// libraries cjson, cmsgpack, struct, bit and coroutine, which are not there and say so.
package redis
