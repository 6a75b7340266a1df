// Package queue stores a campaign in NATS JetStream. Any number of processes on any machines can work on the campaign,
// and any of them may end at any moment.
//
// A campaign NAME uses these objects on the server:
//
//   - a key-value bucket fencepost_NAME: what the campaign runs, the stages of the search, why a stage was ended early,
//     which process coordinates, the progress, the workers that have joined, and the messages that were set aside;
//   - a key-value bucket fencepost_NAME_present: one key for each worker, which the server deletes when the worker no
//     longer renews it;
//   - an object store fencepost_NAME: the files that workers run, and large values, each named by its checksum;
//   - a work queue fencepost_NAME_work: one message for each portion (a range of positions in a stage of the search)
//     that a worker still has to process;
//   - a stream fencepost_NAME_parts: the result of each portion, which is called its part, under its own subject.
//
// Goals: each portion counts once, no matter how often it is delivered. Each subject in the stream only ever accepts
// one message, and a part that overlaps an earlier one is skipped. The coordinator may be replaced at any moment. Two
// coordinators at the same time do no harm: the search depends only on the parts, in stream order; publishing is
// idempotent; and each decision that may be made only once is a key that can be created only once. Nothing compares the
// clocks of two hosts. Times are measured as durations, each by a single clock.
//
// Non-goals: what is searched (see package campaign in the main module, whose interfaces Hands and Worker this package
// serves); credentials and transport (NATS provides them).
//
// The simulator's rules about time and goroutines do not apply here: this package waits for other machines, in real
// time.
package queue
