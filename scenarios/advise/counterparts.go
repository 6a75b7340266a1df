package advise

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// counterparts maps each server of the unchanged lock to the servers of the changed lock that suffer its faults
// instead: one, several or none. A process without an entry is its own counterpart.
//
// A server added by a change is not safe just because the faults do not name it yet. It may suffer whatever can happen
// to a server of the unchanged lock. For example, it may take the place of the only replica, or of a master that loses
// its data.
type counterparts map[sim.ProcessID][]sim.ProcessID

// A casting assigns the old servers' roles to the new ones. At most mostCastings castings are tried for the same
// faults, and at most castingDraws random draws are made to find them.
const (
	mostCastings = 24
	castingDraws = 500
)

// castings returns the ways to transfer the given faults from the old servers to the changed ones. If the servers did
// not change, the list has one element, nil. Otherwise, the first element keeps faults on the same servers as far as
// possible, and spares the added servers. In the second element, each added server is also struck by the faults of one
// of the old servers. The other elements are drawn at random. If there are few possibilities, all of them occur.
func castings(faults []nemesis.Fault, before, after nemesis.Names) (list []counterparts) {
	if slices.Equal(before.Servers(), after.Servers()) {
		return []counterparts{nil}
	}
	old, changed := groups(&before), groups(&after)
	if replicated := len(old[0]) > 1; replicated != (len(changed[0]) > 1) {
		old, changed = singly(old), singly(changed)
	}
	sameMaster := func(a, b []sim.ProcessID) bool { return a[0] == b[0] }
	masters := casting{before: len(old), after: len(changed), same: slices.EqualFunc(old, changed, sameMaster)}
	replicas := casting{before: len(old[0]) - 1, after: len(changed[0]) - 1, same: len(old[0]) == len(changed[0])}
	for _, f := range faults {
		for _, p := range f.On() {
			for i, group := range old {
				if k := slices.Index(group, p); k >= 0 {
					masters.strike(i)
					replicas.strike(k - 1)
				}
			}
		}
	}
	seen := map[string]bool{}
	add := func(m, r []int) {
		if key := fmt.Sprint(m, r); !seen[key] {
			seen[key] = true
			list = append(list, cast(old, changed, m, r))
		}
	}
	add(masters.assign(), replicas.assign())
	add(masters.shared(), replicas.shared())
	draws := sim.NewStream(0, "advise/castings")
	for range castingDraws {
		if len(list) < mostCastings {
			add(masters.draw(draws), replicas.draw(draws))
		}
	}
	return list
}

// groups returns a lock's servers in groups: each master with its replicas, or each server alone.
func groups(n *nemesis.Names) [][]sim.ProcessID {
	if len(n.Groups) > 0 {
		return n.Groups
	}
	return singly([][]sim.ProcessID{n.Servers()})
}

// singly splits groups into groups of one server each, and puts the masters first.
func singly(groups [][]sim.ProcessID) (list [][]sim.ProcessID) {
	for k := range groups[0] {
		for _, group := range groups {
			list = append(list, group[k:k+1])
		}
	}
	return list
}

// cast returns the counterparts for an assignment of roles, where masters and replicas contain indexes of old groups
// and of their replicas. The ith changed group takes over the faults of the old group masters[i]. Its kth replica takes
// over the faults of that group's replica replicas[k].
func cast(old, changed [][]sim.ProcessID, masters, replicas []int) counterparts {
	with := counterparts{}
	for _, group := range old {
		for _, p := range group {
			with[p] = nil
		}
	}
	for i, m := range masters {
		if m == unharmed {
			continue
		}
		with[old[m][0]] = append(with[old[m][0]], changed[i][0])
		for k, r := range replicas {
			if r != unharmed {
				with[old[m][r+1]] = append(with[old[m][r+1]], changed[i][k+1])
			}
		}
	}
	return with
}

// casting assigns roles to the members after a change. There is one role for each old member that is struck by a fault:
// the new member with this role suffers the fault instead. A new member without a role is unharmed. If members were
// added, every role is assigned, and an added member may have any role, even if another member has it, too. If members
// were removed, roles may be left over, and no two members have the same one.
type casting struct {
	before, after int
	same          bool // the members are the same and keep their roles
	struck        []int
}

// unharmed means that a member does not have a role: no fault strikes it.
const unharmed = -1

// strike records that a fault strikes the ith member.
func (c *casting) strike(i int) {
	if i >= 0 && !slices.Contains(c.struck, i) {
		c.struck = append(c.struck, i)
	}
}

// assign assigns each role to one member: the one that had the role before or, if it no longer exists, the next member
// without a role.
func (c *casting) assign() []int {
	roles := slices.Repeat([]int{unharmed}, c.after)
	for _, s := range c.struck {
		for i := range roles {
			if at := (s + i) % c.after; roles[at] == unharmed {
				roles[at] = s
				break
			}
		}
	}
	return roles
}

// shared assigns the roles like assign, and then gives each added member the role of an old one: the first added member
// gets the role of the first old member, and so on.
func (c *casting) shared() []int {
	roles := c.assign()
	for i := c.before; i < c.after; i++ {
		if s := i % c.before; slices.Contains(c.struck, s) {
			roles[i] = s
		}
	}
	return roles
}

// draw returns a randomly chosen role for each member that exists after the change. If c.same is set, it returns the
// roles chosen by assign.
func (c *casting) draw(s *sim.Stream) []int {
	if c.same {
		return c.assign()
	}
	before := append(shuffled(s, c.struck), slices.Repeat([]int{unharmed}, c.before-len(c.struck))...)
	roles := slices.Clone(before[:min(c.before, c.after)])
	before = append(before, unharmed)
	for len(roles) < c.after {
		roles = append(roles, before[s.Uint64()%uint64(len(before))])
	}
	return shuffled(s, roles)
}

// shuffled returns a copy of a list in random order.
func shuffled(s *sim.Stream, list []int) []int {
	list = slices.Clone(list)
	for i := range list {
		k := s.Uint64() % uint64(i+1)
		list[i], list[k] = list[k], list[i]
	}
	return list
}

// apply applies a fault to the counterparts of the processes that it names. The result is one fault for each
// counterpart, or a single cut between all of them. It is empty if there are no counterparts.
func (c counterparts) apply(f nemesis.Fault) (list []nemesis.Fault) {
	find := func(p sim.ProcessID) []sim.ProcessID {
		if found, named := c[p]; named {
			return found
		}
		return []sim.ProcessID{p}
	}
	if f.Kind.Has(nemesis.FieldSides) {
		sides := [2][]sim.ProcessID{}
		for i, side := range [][]sim.ProcessID{f.Left, f.Right} {
			for _, p := range side {
				sides[i] = append(sides[i], find(p)...)
			}
		}
		if f.Left, f.Right = sides[0], sides[1]; len(f.Left) == 0 || len(f.Right) == 0 {
			return nil
		}
		return []nemesis.Fault{f}
	}
	peers := find(f.Peer)
	if f.Kind == nemesis.FailOver && len(peers) == 0 {
		peers = []sim.ProcessID{""} // if there is no replica to promote, the master still fails
	}
	for _, target := range find(f.Target) {
		for _, peer := range peers {
			g := f
			g.Target, g.Peer = target, peer
			list = append(list, g)
		}
	}
	return list
}
