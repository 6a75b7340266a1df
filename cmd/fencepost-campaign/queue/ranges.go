package queue

import (
	"cmp"
	"encoding/json"
	"slices"
)

// portion is a range of a stage's jobs that one worker performs: the jobs at positions first to first+size-1.
type portion struct{ first, size uint64 }

func (p portion) end() uint64 { return p.first + p.size }

// MarshalJSON writes a portion as [first, size].
func (p portion) MarshalJSON() ([]byte, error) { return json.Marshal([2]uint64{p.first, p.size}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (p *portion) UnmarshalJSON(text []byte) error {
	var numbers [2]uint64
	err := json.Unmarshal(text, &numbers)
	*p = portion{numbers[0], numbers[1]}
	return err
}

// halves splits a portion in two. The portion must have at least two positions.
func (p portion) halves() [2]portion {
	half := p.size / 2
	return [2]portion{{p.first, half}, {p.first + half, p.size - half}}
}

// covered is the set of positions of a stage whose results have been counted, as a list of ranges. The length of the
// list grows with the number of gaps, not with the number of positions.
type covered []portion // sorted by first; no two overlap or touch

// add adds a portion and returns true, unless any of its positions is already covered. In that case, add changes
// nothing and returns false.
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

// gap returns the first range of uncovered positions p with from <= p < end, limited to most positions. If there are no
// such positions, the result's size is 0.
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

// includes reports whether c covers every position that others covers.
func (c covered) includes(others covered) bool {
	for _, p := range others {
		if c.gap(p.first, p.size, p.end()).size > 0 {
			return false
		}
	}
	return true
}

// below returns the number of covered positions before position end.
func (c covered) below(end uint64) (n uint64) {
	for _, p := range c {
		if p.first >= end {
			break
		}
		n += min(p.end(), end) - p.first
	}
	return n
}
