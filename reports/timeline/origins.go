package timeline

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// origins ties each effect to the call that sent it. An attempt may have several calls on their way at once: a client
// that has stopped waiting for one reply makes its next call.
func (a *arranger) origins() {
	type exchange struct {
		calls   []*call
		effects []*effect
	}
	of := map[calling]*exchange{}
	at := func(key calling) *exchange {
		if of[key] == nil {
			of[key] = &exchange{}
		}
		return of[key]
	}
	for i := range a.l.effects {
		f := &a.l.effects[i]
		x := at(calling{f.Client, f.Op, f.Of})
		x.effects = append(x.effects, f)
	}
	for i := range a.l.clients {
		lane := &a.l.clients[i]
		for k := range lane.Calls {
			c := &lane.Calls[k]
			if x := of[calling{lane.Process, c.F, c.Of}]; x != nil {
				x.calls = append(x.calls, c)
			}
		}
	}
	for _, x := range of {
		a.l.tie(x.calls, x.effects)
	}
}

// tie ties an attempt's reads, or its writes, to its calls. A call that was answered was decided on before its answer.
// Of several such effects it is the last, because the others may be those of earlier calls that were not answered.
// These are tied to the remaining effects in order.
func (l *Lanes) tie(calls []*call, effects []*effect) {
	var left []*call
	for _, c := range calls {
		if f := l.answer(c, effects); f != nil {
			f.Sent = c.First
		} else {
			left = append(left, c)
		}
	}
	for _, f := range effects {
		if f.Sent >= 0 {
			continue
		}
		i := slices.IndexFunc(left, func(c *call) bool { return c.First < f.Pos && l.mayBe(c, f) })
		if i >= 0 {
			f.Sent = left[i].First
			left = slices.Delete(left, i, i+1)
		}
	}
}

// answer returns the last effect that the reply to a call can be about. It returns nil if there is none, or no reply.
func (l *Lanes) answer(c *call, effects []*effect) *effect {
	replied := c.Result == history.OK || c.Result == history.Fail && l.history.Events[c.Last].Why != history.NoReply
	if !replied {
		return nil
	}
	i, _ := slices.BinarySearchFunc(effects, c.Last, func(f *effect, pos int) int { return cmp.Compare(f.Pos, pos) })
	for i--; i >= 0 && effects[i].Pos > c.First; i-- {
		f := effects[i]
		same := f.Op == history.Write || !f.Accepted || l.history.Events[c.Last].Value == l.history.Events[f.Pos].Value
		if f.Sent < 0 && f.Accepted == (c.Result == history.OK) && same && l.mayBe(c, f) {
			return f
		}
	}
	return nil
}

// mayBe reports whether a call may have sent the request that had an effect: a write's value must be the same.
func (l *Lanes) mayBe(c *call, f *effect) bool {
	sent, got := l.history.Events[c.First].Value, l.history.Events[f.Pos].Value
	return f.Op != history.Write || sent == got || got == ""
}
