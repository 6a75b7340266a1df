package reading

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/register"
)

// Options override header fields in files. The zero Options override nothing.
type Options struct {
	Reading    *history.Reading
	ClockError *history.Time
	Kind       Kind
	Initial    string // the initial value of every register; if empty, the headers decide
	Permits    int    // how many clients may hold a lock at the same time; if 0, the headers decide
}

// Together combines files into the single history to be checked. Its events are numbered from 0. notes contains
// sentences that readers of the verdict need to know, starting with those about truncated files.
func Together(files []*File, o Options) (h *history.History, notes []string, err error) {
	var parts []Part
	var untimed []string
	for _, f := range files {
		if o.Reading != nil {
			f.History.Header.Reading = *o.Reading
		}
		if o.ClockError != nil {
			f.History.Header.ClockError, f.History.Header.ClockErrors = *o.ClockError, nil
		}
		if o.Permits != 0 {
			if err := o.permit(f.History); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		if o.Initial != "" {
			f.History.Header.Initial = o.Initial
		}
		if err := o.Kind.take(f.History); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if f.Cut != "" {
			notes = append(notes, fmt.Sprintf("%s is cut off and was judged only up to that point: %s.", f.Name, f.Cut))
		}
		if f.Untimed {
			untimed = append(untimed,
				fmt.Sprintf("The operations in %s have no times, so they are shown one millisecond apart.", f.Name))
		}
		parts = append(parts, f.Part)
	}
	merged, err := Merge(parts)
	if err != nil {
		return nil, nil, err
	}
	if err := ofRegisters(merged); err != nil && len(files) == 1 {
		return nil, nil, fmt.Errorf("%s: %w", files[0].Name, err)
	} else if err != nil {
		return nil, nil, err
	}
	h, left := prepare(merged)
	for i := range h.Events {
		h.Events[i].Index = i
	}
	return h, append(append(notes, untimed...), left.notes()...), nil
}

// ofRegisters returns an error if the register operations are invalid, or if a lock history contains an initial value.
func ofRegisters(h *history.History) error {
	of, err := register.Of(h)
	byClient := func(e history.Event) bool { return e.Process != history.Nemesis }
	if err == nil && !of && h.Header.Initial != "" && slices.ContainsFunc(h.Events, byClient) {
		return errors.New("an initial register value (initial) is given, but the history is about locks")
	}
	return err
}

func (l removed) notes() (notes []string) {
	if l.Releases > 0 {
		notes = append(notes, fmt.Sprintf("Failed releases, which had no effect, were left out: %d.", l.Releases))
	}
	if l.Nested > 0 {
		notes = append(notes, fmt.Sprintf("Nested acquires, by an owner that already held the lock, were left out: %d.",
			l.Nested))
	}
	return notes
}

// permit sets the number of permits for a history's locks. It returns an error if there would be several permits and
// the history contains shared holds.
func (o *Options) permit(h *history.History) error {
	if i := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Shared }); i >= 0 && o.Permits > 1 {
		return fmt.Errorf("event %d is a shared hold, but each hold of a semaphore takes one of %d permits: "+
			"remove --permits", i, o.Permits)
	}
	h.Header.Permits = o.Permits
	return nil
}
