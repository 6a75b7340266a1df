package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrorOf is how far the clock of a process may have been from true time, either way.
func (r *Recording) ErrorOf(p Process) Time {
	if e, stated := r.ClockErrors[p]; stated {
		return e
	}
	return r.ClockError
}

// OffBy describes how far the clocks may have been off: "6ms each", or if that differs, by whose "2ms (a, b), 6ms (c)".
func (r *Recording) OffBy() string {
	same := true
	for _, e := range r.ClockErrors {
		same = same && e == r.ClockError
	}
	if same {
		return r.ClockError.Duration().String() + " each"
	}
	return grouped(r.ClockErrors, func(e Time) string { return e.Duration().String() })
}

// RecordedUntil describes whose record ended when, unless all ended at once: "0.050 s (a, b), 0.080 s (c)". Otherwise
// it is empty.
func (r *Recording) RecordedUntil() string {
	if text := grouped(r.Seen, Time.String); strings.Contains(text, "), ") {
		return text
	}
	return ""
}

// grouped lists times in ascending order, each with its processes.
func grouped(times map[Process]Time, show func(Time) string) string {
	of := map[Time][]string{}
	for _, p := range slices.Sorted(maps.Keys(times)) {
		of[times[p]] = append(of[times[p]], string(p))
	}
	var all []string
	for _, t := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s (%s)", show(t), some(of[t])))
	}
	return strings.Join(all, ", ")
}

// some names a few of a list and counts the rest.
func some(names []string) string {
	const few = 4
	if n := len(names) - few; n > 0 {
		names = append(slices.Clone(names[:few]), fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}
