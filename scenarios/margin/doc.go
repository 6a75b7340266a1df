// Package margin measures how close a run came to breaking a law, in each of the ways in which that can happen: how
// many more keys would have had to go, how much later a request would have had to arrive. A search uses it to choose
// the plans that are worth varying, and a report tells it as the closest call of a search that broke nothing.
//
// A margin is 0 exactly when the law was violated in that way, and positive otherwise; the smaller, the closer.
//
// Goals: one pass over what the checker has read already; no false closeness, so that a sound lock looks safe.
//
// Non-goals: a margin never decides on a verdict. There is none of deadlock-freedom and fault-tolerance, since only
// long faults would make it small.
package margin
