// Package homemade contains small locks on Redis, sound and broken, of the kinds that people write for themselves. For
// each lock it states what locktest must report.
//
// A lock is a [Recipe]: the steps that acquire, release and renew it. Recipes differ in what they store in Redis (a
// string, a hash, a sorted set, a set, a list, a counter, a record, several keys) and in how they change it (one
// command, a script, a transaction). A [Dress] is a variant of how a recipe is written: the order of a script's
// arguments, EVAL or EVALSHA, the way in which SET's options are written, and whether the lock reports how long it is
// valid. The dress must not change the results. A [Dial] opens a connection with some client library. Each recipe can
// be combined with each dress and each client library.
//
// Goals: each lock can be read in a minute, each broken lock differs from a sound one by a single mistake, and the
// expected report, which is stated with its reason, follows from the lock and the laws. Non-goals: locks of published
// libraries (package libraries), and completeness.
package homemade
