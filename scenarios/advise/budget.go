package advise

import (
	"context"
	"time"
)

// budget limits a search's processor time. How much is tried in that time depends on the machine, so the report says
// what was not tried. Changes are tried in a fixed order, and only the results of changes before the first unfinished
// one are used. So the result depends only on how far the search got.
type budget struct {
	limit      time.Duration // 0: no limit
	start      time.Duration
	spent      func() time.Duration
	endSearch  context.CancelFunc // ends the search for changes
	endConfirm context.CancelFunc // ends the whole search
}

// searchShare is the percentage of a budget that the search for changes may use. The rest is for confirming what was
// found.
const searchShare = 75

// budget starts a budget. It returns two contexts: searching is canceled when the search for changes has used its share
// of the budget, and all is canceled when the whole budget is used up.
func (o *Options) budget(ctx context.Context) (all, searching context.Context, b *budget) {
	b = &budget{limit: o.Budget, spent: o.Spent}
	all, b.endConfirm = context.WithCancel(ctx)
	searching, b.endSearch = context.WithCancel(all)
	if b.limit > 0 {
		b.start = b.spent()
	}
	return all, searching, b
}

// charge is called after each run. When the search for changes has used its share of the budget, charge ends the
// search. When the whole budget is used up, it ends all work.
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
