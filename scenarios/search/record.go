package search

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// record is how an exploration is kept between two calls of the program: with a sum that tells a whole one from a damaged.
type record struct {
	Sum         string          `json:"sum"` // SHA-256 of the rest, as it stands
	Exploration json.RawMessage `json:"exploration"`
}

// Encode gives the exploration as one line of JSON, for Decode.
func (e *Exploration) Encode() ([]byte, error) {
	inner, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(record{sumOf(inner), inner})
	return append(line, '\n'), err
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ErrDamaged reports a record that is cut short or was changed since it was written.
var ErrDamaged = errors.New("is damaged, or no record of an exploration")

// Decode reads what Encode wrote. An error wraps ErrDamaged.
func Decode(b []byte) (*Exploration, error) {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var inner bytes.Buffer
	if err := json.Compact(&inner, r.Exploration); err != nil || sumOf(inner.Bytes()) != r.Sum {
		return nil, fmt.Errorf("%w: its sum does not match what it holds", ErrDamaged)
	}
	e := new(Exploration)
	d := json.NewDecoder(bytes.NewReader(inner.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !e.consistent() {
		return nil, fmt.Errorf("%w: its numbers contradict each other", ErrDamaged)
	}
	return e, nil
}

// consistent reports whether e could have come from a run of this program.
func (e *Exploration) consistent() bool {
	laws := func(t LawTally, l checker.Law) bool {
		return t.Law == l && t.Holds+t.Violated+t.Undecided+t.Unchecked == e.Done
	}
	faults := func(t FaultTally, k nemesis.Kind) bool {
		return t.Kind == k && t.Met <= t.Struck && t.Struck <= t.Drawn
	}
	return e.Seeds >= 1 && e.Shard.Of >= 1 && e.Done >= 0 && e.Done <= e.Shard.Size(e.Seeds) &&
		slices.EqualFunc(e.Laws, checker.Laws, laws) && slices.EqualFunc(e.Faults, nemesis.Kinds, faults)
}

// Matches says why the exploration is not one of s with the program as it is; nil if it is.
func (e *Exploration) Matches(s *scenarios.Scenario) error {
	id, err := IdentityOf(s)
	switch {
	case err != nil:
		return err
	case e.Scenario != s.Name:
		return fmt.Errorf("holds the results of another scenario, %s", e.Scenario)
	case e.Identity.Text != id.Text:
		return fmt.Errorf("holds the results of %s as it was before its text was changed", e.Scenario)
	case e.Identity != id:
		return errors.New("holds the results of another version of this program, whose runs differ")
	}
	return nil
}

// Merge puts the shards of one exploration together: the result equals the exploration that was never divided. An error says
// which shards do not fit, overlap, are missing or not finished; it names them by their place in parts, through name.
func Merge(parts []*Exploration, name func(int) string) (*Exploration, error) {
	if len(parts) == 0 {
		return nil, errors.New("there is nothing to merge")
	}
	first := parts[0]
	had := make(map[int]int, len(parts)) // which part has which shard
	for i, p := range parts {
		before, twice := had[p.Shard.Index]
		switch {
		case p.Scenario != first.Scenario || p.Identity != first.Identity:
			return nil, fmt.Errorf("%s and %s are of different scenarios or versions of this program", name(0), name(i))
		case p.From != first.From || p.Seeds != first.Seeds:
			return nil, fmt.Errorf("%s and %s are of different seeds", name(0), name(i))
		case p.Shard.Of != first.Shard.Of:
			return nil, fmt.Errorf("%s is shard %s, but %s is shard %s: they overlap", name(0), first.Shard, name(i), p.Shard)
		case twice:
			return nil, fmt.Errorf("%s and %s overlap: both are shard %s", name(before), name(i), p.Shard)
		case !p.Finished():
			return nil, fmt.Errorf("%s is not finished: it has %d of %d seeds", name(i), p.Done, p.Shard.Size(p.Seeds))
		}
		had[p.Shard.Index] = i
	}
	for i := range first.Shard.Of {
		if _, ok := had[i+1]; !ok {
			return nil, fmt.Errorf("shard %s is missing", Shard{i + 1, first.Shard.Of})
		}
	}
	whole := &Exploration{Scenario: first.Scenario, Identity: first.Identity, From: first.From, Seeds: first.Seeds, Shard: Whole}
	whole.Laws, whole.Faults = newTallies()
	for _, p := range parts {
		whole.add(p)
	}
	return whole, nil
}
