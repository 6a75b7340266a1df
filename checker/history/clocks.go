package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrorOf returns the largest possible difference between a process's clock and true time, in either direction. This is
// the process's entry in ClockErrors, or ClockError if it has none.
func (r *Recording) ErrorOf(p Process) Time {
	if e, stated := r.ClockErrors[p]; stated {
		return e
	}
	return r.ClockError
}

// OffBy describes the clock errors to users: "6ms each" or, if they differ between processes, those of the processes in
// ClockErrors: "2ms (a, b), 6ms (c)".
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

// RecordedUntil describes when each process's record ended, for example "0.050 s (a, b), 0.080 s (c)". It returns "" if
// all records ended at the same time.
func (r *Recording) RecordedUntil() string {
	if text := grouped(r.Seen, Time.String); strings.Contains(text, "), ") {
		return text
	}
	return ""
}

// grouped lists the distinct times in ascending order, each followed by the processes with that time.
func grouped(times map[Process]Time, show func(Time) string) string {
	of := map[Time][]string{}
	for _, p := range slices.Sorted(maps.Keys(times)) {
		of[times[p]] = append(of[times[p]], string(p))
	}
	var all []string
	for _, t := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s (%s)", show(t), firstFew(of[t])))
	}
	return strings.Join(all, ", ")
}

// firstFew joins the first few names in a list and says how many more there are.
func firstFew(names []string) string {
	const few = 4
	if n := len(names) - few; n > 0 {
		names = append(slices.Clone(names[:few]), fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}
