// Package margin measures how close a run came to violating a law, separately for each way in which the law can be
// violated: for example, how many more keys would have had to be lost, or how much later a request would have had to
// arrive. A search uses the margins to choose which plans to vary. If a search finds no violation, its report shows the
// call with the smallest margin as the closest one.
//
// A margin is 0 exactly if the law was violated in that way. Otherwise it is positive; the smaller, the closer.
//
// Goals: a single pass over what the checker has already read; no false closeness, so that a sound lock looks safe.
//
// Non-goals: a margin never affects a verdict. Deadlock-freedom and fault-tolerance have no margins, because only long
// faults would make them small.
package margin
