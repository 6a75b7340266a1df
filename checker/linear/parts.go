package linear

import (
	"math"

	"github.com/anishathalye/porcupine"
)

// Parts checks the sections of a lock in parts, so that the memory of a question does not grow with the square of a
// long history. A part ends at an instant at which nobody is inside: every section entered before it (its enter had
// returned) was being left by then (its leave had been called). Call those sections the earlier ones, all others the
// later ones. The whole is linearizable if and only if both are:
//
// Only if: in a legal order each section is left after it is entered, and no two overlap unless both are shared. That
// is true of any choice of its sections as well, and leaving out some operations puts no others in another order. So a
// legal order of the whole contains one of the earlier sections and one of the later.
//
// If: a legal order of the earlier sections, followed by one of the later, is one of the whole. It respects time: what
// belongs to the later sections returned after that instant (their enters by definition, their leaves since they were
// called after the enters had returned), and what belongs to the earlier was called before it, so that nothing later
// precedes anything earlier. It is legal: each of the earlier sections has its leave, so that nobody is inside where
// the later ones begin.
//
// Who is asking at that instant, and whose leave has not returned, does not matter. By "only if" any choice of sections
// that is refuted refutes the whole.
//
// The memory of one history is used again for the next.
type Parts struct {
	// Least is the number of sections before which no part ends, above 0: a question costs as much as checking some
	// sections.
	Least int
	// Most is the highest number of sections of one question. Of a longer part only that many are checked, and it can
	// only be refuted.
	Most int
	// Steps is how many more steps of the model all questions together may take.
	Steps int

	model      porcupine.Model
	budget     *budget // the model's
	operations []porcupine.Operation
}

// MaxSections is the limit on the sections of one question that Renew sets: 80 MB.
const MaxSections = 10_000

// Renew sets the bounds that suit a history. From 8 sections to 250 a question takes about the same time for each
// section; with fewer, porcupine tries fewer orders if many clients wait, since a question holds no more waiters than
// sections. The steps suffice for a million operations, however many clients contend.
func (p *Parts) Renew() { p.Least, p.Most, p.Steps = 16, MaxSections, 1<<24 }

// Mutex reports whether the operations are those of a lock: whether an order exists in which each section is entered
// while no other is open, shared ones aside. A section that was never left has no leave operation. It answers as one
// question about all of them would, even where that would have no answer. It is TooMany if some part is longer than
// Most, and no part is refuted. The operations of a section stand together, the enter first, and the sections in the
// order in which their enters returned. Refuted holds the operations of the refuted part.
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

// ask is one question. It deducts its steps from those left.
func (p *Parts) ask(ops []MutexOp) Answer {
	steps := min(p.Steps, maxSteps)
	if steps == 0 {
		return Unknown
	}
	if p.budget == nil {
		p.budget = &budget{}
		p.model = model(0, mutexStep, p.budget)
	}
	*p.budget = budgetFor(len(ops), steps)
	p.operations = appendMutexOperations(p.operations[:0], ops)
	answer := p.budget.answer(porcupine.CheckOperations(p.model, p.operations))
	p.Steps -= steps - max(0, p.budget.left)
	return answer
}

// first returns how many of the operations make up the first part, and how many of these are checked.
func (p *Parts) first(ops []MutexOp) (asked, part int) {
	left := int64(math.MinInt64) // when the last of the sections so far was being left
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
