// Package homemade contains small Redis locks, both sound and broken, of the kinds that people write for themselves.
// For each lock it states what locktest must report.
//
// A lock is a [Recipe]: the steps to acquire, release and renew it. Recipes differ in what they store in Redis (a
// string, a hash, a sorted set, a set, a list, a counter, a record, several keys) and in how they change it (one
// command, a script, a transaction). A [Dress] is one way to write down a recipe: the order of a script's arguments,
// EVAL or EVALSHA, how SET's options are written, and whether the lock reports how long it is valid. The dress must not
// change the results. A [Dial] opens a connection with a particular client library. Each recipe can be combined with
// each dress and each client library.
//
// Goals: each lock can be read in a minute, each broken lock differs from a sound one by a single mistake, and the
// expected report, which is stated with its reason, follows from the lock and the laws. Non-goals: published libraries'
// locks (see package libraries), and completeness.
package homemade
