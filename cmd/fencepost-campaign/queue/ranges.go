package queue

import (
	"cmp"
	"slices"
)

// portion is the positions first to first+size-1 of a stage.
type portion struct{ first, size uint64 }

func (p portion) end() uint64 { return p.first + p.size }

// halves divides a portion of more than one position.
func (p portion) halves() [2]portion {
	half := p.size / 2
	return [2]portion{{p.first, half}, {p.first + half, p.size - half}}
}

// covered are positions of a stage of which a part was taken. It takes as little room as there are gaps.
type covered []portion // by first; no two of them touch

// add covers a portion, and reports whether none of it was covered before. Otherwise nothing is changed.
func (c *covered) add(p portion) bool {
	i, _ := slices.BinarySearchFunc(*c, p, func(a, b portion) int { return cmp.Compare(a.first, b.first) })
	before, after := i > 0, i < len(*c)
	if before && (*c)[i-1].end() > p.first || after && (*c)[i].first < p.end() {
		return false
	}
	joinsBefore := before && (*c)[i-1].end() == p.first
	joinsAfter := after && (*c)[i].first == p.end()
	switch {
	case joinsBefore && joinsAfter:
		(*c)[i-1].size += p.size + (*c)[i].size
		*c = slices.Delete(*c, i, i+1)
	case joinsBefore:
		(*c)[i-1].size += p.size
	case joinsAfter:
		(*c)[i] = portion{p.first, p.size + (*c)[i].size}
	default:
		*c = slices.Insert(*c, i, p)
	}
	return true
}

// gap is the first portion from a position on that is not covered, of at most the given size and below end. Its size
// is 0 if there is none.
func (c covered) gap(from, most, end uint64) portion {
	for _, p := range c {
		if p.end() <= from {
			continue
		}
		if p.first > from {
			end = min(end, p.first)
			break
		}
		from = p.end()
	}
	if from >= end {
		return portion{first: end}
	}
	return portion{from, min(most, end-from)}
}

// below is how many positions before the given one are covered.
func (c covered) below(end uint64) (n uint64) {
	for _, p := range c {
		if p.first >= end {
			break
		}
		n += min(p.end(), end) - p.first
	}
	return n
}
