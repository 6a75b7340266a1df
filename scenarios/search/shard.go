package search

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Shard is one of several consecutive parts of a sequence, such as a sequence of seeds. The parts are of nearly equal
// size.
type Shard struct{ Index, Of int } // 1 <= Index <= Of

// Whole is the shard that contains the whole sequence.
var Whole = Shard{1, 1}

// maxShards is the maximum number of shards that a search can be divided into.
const maxShards = 100_000

// ParseShard parses a shard such as "2/5", the second of five.
func ParseShard(text string) (Shard, error) {
	index, of, _ := strings.Cut(text, "/")
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(of)
	if errI != nil || errN != nil || n < 1 || n > maxShards {
		return Shard{}, fmt.Errorf("a shard is written as 2/5, the second of five, not %q", text)
	}
	if i < 1 || i > n {
		return Shard{}, fmt.Errorf("shards are counted from 1 to %d, so there is no shard %s", n, text)
	}
	return Shard{i, n}, nil
}

// String returns the shard in the form "2/5".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Size returns how many elements of a sequence of n elements belong to the shard.
func (s Shard) Size(n int) int {
	from, to := s.bounds(n)
	return to - from
}

// bounds returns the half-open range [from, to) of the indexes that belong to the shard in a sequence of n elements.
func (s Shard) bounds(n int) (from, to int) {
	of := func(i int) int {
		hi, lo := bits.Mul64(uint64(n), uint64(i))
		at, _ := bits.Div64(hi, lo, uint64(s.Of))
		return int(at)
	}
	return of(s.Index - 1), of(s.Index)
}

// MarshalJSON returns the shard as a JSON string, such as "2/5".
func (s Shard) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON decodes a JSON string such as "2/5".
func (s *Shard) UnmarshalJSON(b []byte) (err error) {
	var text string
	if err = json.Unmarshal(b, &text); err == nil {
		*s, err = ParseShard(text)
	}
	return err
}
