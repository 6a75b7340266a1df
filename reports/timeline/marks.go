package timeline

import "slices"

// Marks of clients: they stand for the owners of keys, and for lanes that are too narrow for their names. The first
// nine clients are numbered.
const (
	clientMarks = "123456789" + "abcdefghijklmnoqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	probeMark   = 'p'
	otherMark   = '*' // every client for which there is no mark left
	unknownMark = '?' // the owner of a key that belongs to none of the clients
)

// markOf returns the mark of a client's lane, or unknownMark if client is negative.
func (t *table) markOf(client int) rune {
	switch {
	case client < 0:
		return unknownMark
	case t.lanes.clients[client].Process == probe:
		return probeMark
	case client >= len(clientMarks):
		return otherMark
	}
	return rune(clientMarks[client])
}

// place is a part of a text timeline. The same sign may mean different things in different places.
type place uint8

const (
	inGutter place = iota // between the time and the lanes
	inLane
	inLease
	inKeys
)

type sign struct {
	in   place
	mark rune
}

// drawnSigns records which signs a timeline contains, for its legend.
type drawnSigns struct {
	signs  map[sign]bool
	owners map[int]bool // the lanes whose marks stand for keys; -1 for unknown owners
	queue  []int        // the first two owners of keys of one lock on one server, if a server has several
}

// put records that a sign is drawn and returns it.
func (t *table) put(in place, mark rune) string {
	t.drawn.signs[sign{in, mark}] = true
	return string(mark)
}

// owned records the owners of a lock's keys on one server. As an example of a queue, it prefers two different clients.
func (t *table) owned(owners []int) {
	for _, o := range owners {
		t.drawn.owners[o] = true
	}
	if len(owners) < 2 || owners[0] < 0 || owners[1] < 0 {
		return
	}
	if q := t.drawn.queue; q == nil || q[0] == q[1] && owners[0] != owners[1] {
		t.drawn.queue = slices.Clone(owners[:2])
	}
}
