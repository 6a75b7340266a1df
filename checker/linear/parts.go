package linear

import (
	"math"

	"github.com/anishathalye/porcupine"
)

// Parts checks the sections of a lock in parts, so that the memory of a check does not grow with the square of the
// length of a history. A part ends at an instant at which nobody is inside: every section that was entered before it
// (its enter had returned) was being left (its leave had been called). These sections are called the earlier ones, all
// others the later ones. The whole is linearizable if and only if the earlier sections are and the later sections are:
//
// Only if: in a legal order each section is left after it is entered, and no two overlap unless both are shared (of a
// semaphore: no more sections than permits are open at once). This is also true of any subset of the sections, and
// leaving out operations does not change the order of the others. So a legal order of the whole contains a legal order
// of the earlier sections and one of the later sections.
//
// If: a legal order of the earlier sections followed by a legal order of the later sections is a legal order of the
// whole. It respects time: the operations of the later sections returned after the instant (enters by definition;
// leaves because they were called after their enters had returned), and the operations of the earlier sections were
// called before it, so no later operation precedes an earlier one. It is legal: each earlier section has its leave, so
// that nobody is inside when the later sections begin.
//
// It does not matter which enters and leaves have been called but have not returned at the instant. By "only if", the
// whole is refuted if any subset of its sections is refuted.
//
// Parts reuses its memory from one history to the next.
type Parts struct {
	// Least is the minimum number of sections of a part, except the last; it must be positive. A larger value saves
	// time, since each question to porcupine costs as much as checking several sections.
	Least int
	// Most is the maximum number of sections of one question. Of a longer part only that many are checked, so that it
	// can be refuted but not confirmed.
	Most int
	// Steps is how many more steps of the model all questions together may take.
	Steps int
	// Permits is how many may be inside at once, if the lock is a semaphore; 0 or 1: it is a mutex.
	Permits int

	model      porcupine.Model
	modeled    modeled
	budget     *budget // the budget that model counts on
	operations []porcupine.Operation
}

// modeled is what a model was made for.
type modeled struct {
	permits int
	several bool
}

// MaxSections is the maximum number of sections of one question that Renew sets. Such a question takes 80 MB.
const MaxSections = 10_000

// Renew sets the permits and the bounds for another history. With 8 to 250 sections per question, the time per section
// is about the same. With fewer, porcupine tries fewer orders if many clients wait, because a question contains at most
// as many waiters as sections. The steps suffice for a million operations, however many clients contend.
func (p *Parts) Renew(permits int) {
	p.Least, p.Most, p.Steps, p.Permits = 16, MaxSections, 1<<24, permits
}

// Mutex reports whether the operations are those of a correct lock: whether there is an order in which each section is
// entered while no other is open, except that shared sections may overlap. If the lock is a semaphore, each section is
// entered while fewer sections are open than there are permits. A section that was never left has no leave operation.
// The answer is the same as that of a single question about all operations, even where such a question would exceed its
// budget. It is TooMany if some part has more than Most sections and no part is refuted. The operations of a section
// must be adjacent, with the enter first, and the sections must be sorted by the return of their enters. If the answer
// is Refuted, refuted holds the operations of the refuted part.
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

// ask asks porcupine one question and deducts its steps from p.Steps.
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

// first returns how many operations form the first part, and how many of them are checked.
func (p *Parts) first(ops []MutexOp) (asked, part int) {
	left := int64(math.MinInt64) // when the last of the sections so far called its leave
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
