// Package search performs many runs of a scenario under random faults, to find out what a single run cannot show:
// whether any plan breaks a promise (Result), and what the smallest such plan is (Shrink). Package verify tries all
// plans within bounds; package sweep looks for the boundary between safe and unsafe parameter values.
//
// Goals: the result of a search depends only on its scenario and its options. It does not depend on the number of
// workers, or on whether the search was interrupted and resumed. A search reports what it has actually tried, and never
// counts a missing result as a pass. Non-goals: drawing faults (nemesis), running and judging one plan (scenarios), the
// formats of a report (reports).
package search
