package linear

import (
	"math"

	"github.com/anishathalye/porcupine"
)

// Parts checks a lock's critical sections in parts, so that the memory needed for a check does not grow quadratically
// with the length of the history. A part ends at an instant at which nobody is inside: if a section's enter had
// returned before the instant, its leave had already been called. The sections whose enters had returned are called the
// earlier sections, all others the later sections. The whole is linearizable if and only if the earlier sections are
// linearizable and the later sections are linearizable:
//
// "Only if": in a legal order, each section is left after it is entered, and no two sections overlap unless both are
// shared. (For a semaphore, no more sections than permits are open at the same time.) This is also true of any subset
// of the sections, and leaving out operations does not change the order of the others. So a legal order of the whole
// contains a legal order of the earlier sections and a legal order of the later sections.
//
// "If": a legal order of the earlier sections followed by a legal order of the later sections is a legal order of the
// whole. It is consistent with time. The operations of the later sections returned after the instant: the enters by
// definition, and the leaves because they were called after their enters had returned. The operations of the earlier
// sections were called before the instant. So no later operation precedes an earlier one. The order is also legal: each
// earlier section has its leave, so nobody is inside when the later sections begin.
//
// Enters and leaves that had been called but had not returned at the instant make no difference. By "only if", the
// whole is refuted if any subset of its sections is refuted.
//
// Parts reuses its memory from one history to the next.
type Parts struct {
	// Least is the minimum number of sections in each part except the last. It must be positive. A larger value saves
	// time, since each call to porcupine costs as much as checking several sections.
	Least int
	// Most is the maximum number of sections in one call to porcupine. If a part is longer, only its first Most
	// sections are checked, so it can be refuted but not confirmed.
	Most int
	// Steps is the number of model steps left for further calls to porcupine.
	Steps int
	// Permits is the maximum number of holders if the lock is a semaphore. It is 0 or 1 for a mutex.
	Permits int

	model      porcupine.Model
	modeled    modeled
	budget     *budget // the budget that model uses
	operations []porcupine.Operation
}

// modeled says which kind of lock a model was made for.
type modeled struct {
	permits int
	several bool
}

// MaxSections is the value that Renew sets Most to. A call to porcupine with that many sections takes 80 MB.
const MaxSections = 10_000

// Renew sets the permits and the limits for another history. The time per section is about the same for all values of
// Least from 8 to 250. Small values are better if many clients are waiting: a call to porcupine contains at most as
// many waiters as sections, so it has fewer orders to try. The steps are enough for a million operations, however many
// clients contend for the lock.
func (p *Parts) Renew(permits int) {
	p.Least, p.Most, p.Steps, p.Permits = 16, MaxSections, 1<<24, permits
}

// Mutex reports whether the operations could be those of a correct lock. There must be an order in which each section
// is entered while no other section is open. Shared sections may overlap. If the lock is a semaphore, each section must
// be entered while fewer sections are open than there are permits. A section that was never left has no leave
// operation.
//
// The answer is the same as if all operations were checked together, even if such a check would exceed its budget. It
// is TooMany if some part has more than Most sections and no part is refuted. If it is Refuted, refuted contains the
// refuted part's operations.
//
// A section's operations must be adjacent, with the enter first. The sections must be sorted by when their enters
// returned.
func (p *Parts) Mutex(ops []MutexOp) (answer Answer, refuted []MutexOp) {
	answer = Linearizable
	for len(ops) > 0 {
		asked, part := p.first(ops)
		a := p.ask(ops[:asked])
		switch {
		case a == Refuted:
			return a, ops[:asked]
		case a == Linearizable && asked < part:
			a = TooMany
		}
		if answer == Linearizable {
			answer = a
		}
		ops = ops[part:]
	}
	return answer, nil
}

// ask calls porcupine once and deducts the steps it used from p.Steps.
func (p *Parts) ask(ops []MutexOp) Answer {
	steps := min(p.Steps, maxSteps)
	if steps == 0 {
		return Unknown
	}
	if of := (modeled{p.Permits, admitsSeveral(ops, p.Permits)}); p.budget == nil || p.modeled != of {
		p.budget, p.modeled = &budget{}, of
		p.model = mutexModel(of.permits, of.several, p.budget)
	}
	*p.budget = budgetFor(len(ops), steps)
	p.operations = appendMutexOperations(p.operations[:0], ops)
	answer := p.budget.answer(porcupine.CheckOperations(p.model, p.operations))
	p.Steps -= steps - max(0, p.budget.left)
	return answer
}

// first returns how many operations are in the first part, and how many of these are checked.
func (p *Parts) first(ops []MutexOp) (asked, part int) {
	left := int64(math.MinInt64) // the latest call to leave among the sections so far
	for sections := 1; part < len(ops); sections++ {
		if sections > p.Least && left < ops[part].Return {
			break
		}
		end, next := Forever, part+1
		if next < len(ops) && !ops[next].Enter {
			end, next = ops[next].Call, next+1
		}
		left, part = max(left, end), next
		if sections <= p.Most {
			asked = part
		}
	}
	return asked, part
}
