package reading

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Options outweigh what the headers of files say. The zero Options leave all as it is recorded.
type Options struct {
	Reading    *history.Reading
	ClockError *history.Time
	Kind       Kind
}

// Together makes of files the one history that is judged, with its events counted from 0. Notes are what one must know
// who reads the verdict, each a sentence; on files that are cut off they come first.
func Together(files []*File, o Options) (h *history.History, notes []string, err error) {
	var parts []Part
	var untimed []string
	for _, f := range files {
		if o.Reading != nil {
			f.History.Header.Reading = *o.Reading
		}
		if o.ClockError != nil {
			f.History.Header.ClockError = *o.ClockError
		}
		if err := o.Kind.Take(f.History); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if f.Cut != "" {
			notes = append(notes, fmt.Sprintf("%s is cut off, and was judged up to there: %s.", f.Name, f.Cut))
		}
		if f.Untimed {
			untimed = append(untimed,
				fmt.Sprintf("The operations of %s state no times: they are shown one millisecond apart.", f.Name))
		}
		parts = append(parts, f.Part)
	}
	merged, err := Merge(parts)
	if err != nil {
		return nil, nil, err
	}
	h, left := Of(merged)
	for i := range h.Events {
		h.Events[i].Index = i
	}
	return h, append(append(notes, untimed...), left.notes()...), nil
}

func (l Left) notes() (notes []string) {
	if l.Releases > 0 {
		notes = append(notes, fmt.Sprintf("Releases that failed released nothing and are left out: %d.", l.Releases))
	}
	if l.Nested > 0 {
		notes = append(notes, fmt.Sprintf("Acquires by who held the lock already are nested and left out: %d.",
			l.Nested))
	}
	return notes
}
