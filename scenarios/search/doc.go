// Package search makes many runs of a scenario under random faults to learn what a single one cannot show: whether some
// plan breaks a promise (Exploration), and what the smallest such plan is (Shrink). Package verify tries all plans
// within bounds, package sweep looks for the edge between safe and unsafe.
//
// Goals: a search is a function of its scenario and options: the number of workers, an interruption and a resumption
// change nothing in what it finds. It says what it has really tried, and never takes silence for a pass.
// Non-goals: drawing faults (nemesis), running and judging one plan (scenarios), the forms of a report (reports).
package search
