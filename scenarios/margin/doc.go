// Package margin measures how close a run came to violating a law. It does so separately for each way to violate the
// law. For example, a margin may say how many more keys would have had to be lost, or how much later a request would
// have had to arrive. A search uses the margins to choose which plans to vary. If a search does not find a violation,
// its report shows the close call with the smallest margin.
//
// A margin is 0 if and only if the law was violated in that way. Otherwise it is positive; the smaller it is, the
// closer the run came.
//
// Goals: a single pass over what the checker has already read; a sound lock must not seem close to a violation.
//
// Non-goals: a margin never affects a verdict. Deadlock-freedom and fault-tolerance do not have margins, because only
// long faults would make them small.
package margin
