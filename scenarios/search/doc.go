// Package search makes many runs of a scenario under random faults, to learn what a single run cannot show: whether
// some plan breaks a promise (Exploration), and what the smallest such plan is (Shrink). Package verify tries all plans
// within bounds; package sweep looks for the edge between safe and unsafe.
//
// Goals: a search is a function of its scenario and its options. The number of workers does not change what it finds,
// and neither does interrupting and resuming it. A search reports what it has really tried, and never counts a missing
// result as a pass.
// Non-goals: drawing faults (nemesis), running and judging one plan (scenarios), the formats of a report (reports).
package search
