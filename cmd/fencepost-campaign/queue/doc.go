// Package queue keeps a campaign in NATS JetStream, so that any number of processes on any machines work on it, and any
// of them may end at any moment.
//
// A campaign NAME has
//   - a key-value bucket fencepost_NAME: what is run, the stages of the search and why one was ended early, who
//     coordinates, progress, the workers that came, what was put aside;
//   - a bucket fencepost_NAME_present, whose keys the server forgets when a worker no longer renews its own;
//   - an object store fencepost_NAME: files that are run and large values, each under the sum of its content;
//   - a work queue fencepost_NAME_work: a message for each portion of a stage that is to be made;
//   - a stream fencepost_NAME_parts: what came of each portion, under a subject of its own.
//
// Goals: a portion counts once, however often it was delivered: the subject of a part admits one message, for ever, and
// a part that overlaps one taken before is passed over. Whoever coordinates may be replaced at any moment, and two that
// coordinate at once do no harm: a search is a function of the parts in the order of their stream, publishing is
// idempotent, and what must be decided once is a key that can be created once. Nothing compares the clocks of two
// hosts; time is measured as durations, each by one clock.
// Non-goals: what is searched (package campaign of the main module, whose Hands and Worker it serves); credentials and
// transport, which are NATS's.
//
// The house's rules about time and goroutines do not hold here: this waits for other machines, in real time.
package queue
