package advise

import (
	"context"
	"time"
)

// A budget limits the processor time that a search takes. How far it reaches depends on the machine, so a report says
// what was not tried. Changes are tried in a fixed order and count only up to the first that was not finished: equal
// amounts of work have equal results.
type budget struct {
	limit      time.Duration // 0: none
	start      time.Duration
	spent      func() time.Duration
	endSearch  context.CancelFunc // of the search for changes
	endConfirm context.CancelFunc // of everything
}

// searchShare is how much of a budget the search for changes may take, in hundredths. The rest confirms what it found.
const searchShare = 75

// budget starts a budget. Everything that it pays for ends with all, and the search for changes with searching.
func (o *Options) budget(ctx context.Context) (all, searching context.Context, b *budget) {
	b = &budget{limit: o.Budget, spent: o.Spent}
	all, b.endConfirm = context.WithCancel(ctx)
	searching, b.endSearch = context.WithCancel(all)
	if b.limit > 0 {
		b.start = b.spent()
	}
	return all, searching, b
}

// charge ends what the budget no longer pays for. It is called after each run.
func (b *budget) charge() {
	if b.limit == 0 {
		return
	}
	used := b.spent() - b.start
	if used >= b.limit/100*searchShare {
		b.endSearch()
	}
	if used >= b.limit {
		b.endConfirm()
	}
}
