package checker

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// advice is one recommended change. It must be enough to prevent the violation. Changes that help only together form
// one piece of advice.
type advice struct {
	text   string
	unless history.Measure                  // not for locks that already take this measure
	given  history.Measure                  // only for locks that take this measure
	only   func(k history.ServiceKind) bool // only for users of these services; nil: all
	when   func(s *situation) bool          // only if this holds for the violation; nil: always
}

// together combines two pieces of advice for a lock that needs both. A lock that certainly follows neither of them gets
// both in one sentence. Otherwise, the lock gets a piece only if it may already follow the other one.
func together(first, second advice, both string) []advice {
	one, other := first, second
	one.when = all(first.when, func(s *situation) bool { return s.MayApply(second.unless) })
	other.when = all(second.when, func(s *situation) bool { return s.MayApply(first.unless) })
	return []advice{one, other, {text: both, unless: first.unless, only: first.only,
		when: all(first.when, second.when, func(s *situation) bool {
			return !s.MayApply(first.unless) && !s.MayApply(second.unless)
		})}}
}

// Conditions on the service. Some advice applies only to services with a certain property, or names something that only
// one service has.
var (
	onEtcd       = onService(history.Etcd)
	onZooKeeper  = onService(history.ZooKeeper)
	onKubernetes = onService(history.Kubernetes)
	onConsul     = onService(history.Consul)
)

// onService returns a condition that is true only for the given service.
func onService(s history.Service) func(history.ServiceKind) bool {
	return func(k history.ServiceKind) bool { return k.Name == s }
}

// notZooKeeper reports whether the service is not ZooKeeper.
func notZooKeeper(k history.ServiceKind) bool { return !onZooKeeper(k) }

// anyRedis reports whether the servers are Redis masters. Each has its own keys, so its clock and its disk matter.
func anyRedis(k history.ServiceKind) bool {
	return k.Name == history.Redis || k.Name == history.Redlock
}

// oneRedis reports whether the service is a single Redis master, with or without replicas.
func oneRedis(k history.ServiceKind) bool { return k.Name == history.Redis }

// byMajority reports whether the service is a set of servers that are independent of each other.
func byMajority(k history.ServiceKind) bool { return k.Majority }

// asOne reports whether the service answers as a whole, granting or refusing just once.
func asOne(k history.ServiceKind) bool { return !k.Majority }

// consensus reports whether the service's members agree on one replicated log.
func consensus(k history.ServiceKind) bool { return k.OneLog }

// removing reports whether the servers remove a lock once its lease has ended.
func removing(k history.ServiceKind) bool { return !k.ClientsExpire }

// nothingLeft and noneKnown are the texts for violations to which no advice applies. nothingLeft is used if exclusion
// was violated even though every safety measure is in place, including one that guards the data. Otherwise noneKnown is
// used.
const (
	nothingLeft = "Every measure that the documentation recommends against this violation is already in place. " +
		"A limit of all locks with leases remains: " +
		"such a lock cannot stop a holder that does not know that its lease is over."
	noneKnown = "The checker knows no remedy for this violation."
)

// remedy returns the advice that applies to the situation. It omits advice that is already being followed, advice for
// other kinds of locks, and advice against other faults. It marks advice that may already be followed. If the service
// is unknown, remedy assumes that it has several servers.
func remedy(s *situation) string {
	kind := cmp.Or(s.Service, history.Redlock).Kind()
	var fit, unsure []string
	hidden := false
	list := s.advice()
	if s.OnlyMember() && !keepsDisk(s) && s.cause.Kind != NoQuorumLeft && s.cause.Kind != WaitedForOther {
		list = onlyMember
	}
	for _, a := range list {
		switch {
		case slices.Contains(fit, a.text), slices.Contains(unsure, a.text): // advice can fit for two reasons
		case s.Applies(a.unless), a.only != nil && !a.only(kind), a.when != nil && !a.when(s):
		case a.given != "" && !s.Applies(a.given):
			hidden = hidden || s.Unsure(a.given)
		case s.Unsure(a.unless):
			unsure = append(unsure, a.text)
		default:
			fit = append(fit, a.text)
		}
	}
	switch {
	case len(unsure) > 0:
		fit = append(fit, unlessDone+paragraph(unsure))
	case len(fit) == 0 && (hidden || s.cause.Kind == CauseNotRecorded):
		return notShown
	case len(fit) == 0 && slices.ContainsFunc(list, func(a advice) bool { return a.unless == history.Fencing }):
		return nothingLeft
	case len(fit) == 0:
		return noneKnown
	}
	return paragraph(fit)
}

// paragraph joins pieces of advice. It removes an initial "Or", because the first piece has nothing to be an
// alternative to.
func paragraph(advice []string) string {
	s := strings.Join(advice, " ")
	if rest, is := strings.CutPrefix(s, "Or "); is {
		return capital(rest)
	}
	return s
}

// unlessDone introduces advice that a lock may already follow, which cannot be known because the history does not show
// the lock's code. notShown is used if this is also why there is no advice.
const (
	unlessDone = "If you do not already do so: "
	notShown   = "What would help depends on how the lock works, which the history does not show."
)
