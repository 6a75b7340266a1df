package advise

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// counterparts are, for each server that faults name, the servers of a changed lock that suffer its faults: one,
// several or none. A process that is not among the keys is its own counterpart.
//
// A server that a change adds is not safe merely because no fault names it yet: it may suffer what befalls any server
// of the lock as it is, such as its only replica or the master that forgets.
type counterparts map[sim.ProcessID][]sim.ProcessID

// How many counterparts are tried for the same faults, and how often they are drawn to find so many different ones.
const (
	mostCastings = 24
	castingDraws = 500
)

// castings lists the counterparts to try for some faults: one element, nil, if the servers are the same. Else the first
// leaves servers where they were as far as it can and added ones unharmed, the second lets the added ones suffer in
// turn what befalls the old ones, and the others are drawn: all that there are, unless these are many.
func castings(faults []nemesis.Fault, before, after nemesis.Names) (list []counterparts) {
	if slices.Equal(before.Servers(), after.Servers()) {
		return []counterparts{nil}
	}
	old, changed := groups(&before), groups(&after)
	if replicated := len(old[0]) > 1; replicated != (len(changed[0]) > 1) {
		old, changed = apart(old), apart(changed)
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
	add(masters.alone(), replicas.alone())
	add(masters.shared(), replicas.shared())
	draws := sim.NewStream(0, "advise/castings")
	for range castingDraws {
		if len(list) < mostCastings {
			add(masters.draw(draws), replicas.draw(draws))
		}
	}
	return list
}

// groups are the servers of a lock: masters with their replicas, or servers that stand alone.
func groups(n *nemesis.Names) [][]sim.ProcessID {
	if len(n.Groups) > 0 {
		return n.Groups
	}
	return apart([][]sim.ProcessID{n.Servers()})
}

// apart are the servers of some groups as if each stood alone, masters first.
func apart(groups [][]sim.ProcessID) (list [][]sim.ProcessID) {
	for k := range groups[0] {
		for _, group := range groups {
			list = append(list, group[k:k+1])
		}
	}
	return list
}

// cast gives the counterparts where the ith changed group has the role of the old one masters[i], and its kth replica
// that of the old one replicas[k].
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

// casting is how the members of a group, so many after a change, take over the roles of those before. Each has the role
// of one that is struck, or is unharmed. Where they are enough, no role is left out, and those that are added have any;
// where they are not, no role is taken twice.
type casting struct {
	before, after int
	same          bool // they are the same, and keep their roles
	struck        []int
}

// unharmed is the role of those whom nothing befalls.
const unharmed = -1

// strike notes that something befalls the ith.
func (c *casting) strike(i int) {
	if i >= 0 && !slices.Contains(c.struck, i) {
		c.struck = append(c.struck, i)
	}
}

// alone lets each keep its role, or the next one that has none take it.
func (c *casting) alone() []int {
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

// shared lets the added ones take in turn the roles that those before have.
func (c *casting) shared() []int {
	roles := c.alone()
	for i := c.before; i < c.after; i++ {
		if s := i % c.before; slices.Contains(c.struck, s) {
			roles[i] = s
		}
	}
	return roles
}

// draw lets them take roles at random.
func (c *casting) draw(s *sim.Stream) []int {
	if c.same {
		return c.alone()
	}
	before := append(shuffled(s, c.struck), slices.Repeat([]int{unharmed}, c.before-len(c.struck))...)
	roles := slices.Clone(before[:min(c.before, c.after)])
	before = append(before, unharmed)
	for len(roles) < c.after {
		roles = append(roles, before[s.Uint64()%uint64(len(before))])
	}
	return shuffled(s, roles)
}

// shuffled is a list in random order.
func shuffled(s *sim.Stream, list []int) []int {
	list = slices.Clone(list)
	for i := range list {
		k := s.Uint64() % uint64(i+1)
		list[i], list[k] = list[k], list[i]
	}
	return list
}

// of lists what a fault is to the counterparts of those whom it names: a fault for each of them, or a cut that parts
// all of them. It is empty if there are none.
func (c counterparts) of(f nemesis.Fault) (list []nemesis.Fault) {
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
		peers = []sim.ProcessID{""} // what befalls the master is left
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
