// Package homemade has small locks on Redis of the kinds that people write for themselves, sound and broken, and states
// of each what a test of it must report.
//
// A lock is a [Recipe]: how it is taken, given back, renewed. Recipes differ in what they keep in Redis (a string, a
// hash, a sorted set, a set, a list, a counter, a record, several keys) and in how they change it (one command, a
// script, a transaction). A [Dress] changes what must not matter: the order of a script's arguments, EVAL or EVALSHA,
// how the options of SET are spelled, and whether the lock says until when it is held. A [Dial] opens a connection by
// some client library. Recipe, dress and client are independent of each other.
//
// Goals: each lock can be read in a minute, each broken lock differs from a sound one by one mistake, and what is
// expected of it follows from the lock and the laws, with the reason beside it. Non-goals: locks of shipped libraries
// (package libraries), and every lock that there could be.
package homemade
