package search

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// record stores a search between two invocations of the program. A checksum shows whether the record is damaged.
type record struct {
	Sum  string          `json:"sum"` // SHA-256 of the field held, as written
	Held json.RawMessage `json:"held"`
}

// encode returns a search as one line of JSON for decode to read.
func encode(v any) ([]byte, error) {
	held, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(record{sumOf(held), held})
	return append(line, '\n'), err
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// errDamaged means that a record is truncated, was changed after it was written, or is of another kind.
var errDamaged = errors.New("is damaged, or is not a record of this kind")

// decode decodes a record written by encode, and stores its content in v. If the record is damaged, the error wraps
// errDamaged.
func decode(b []byte, v interface{ consistent() bool }) error {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return fmt.Errorf("%w: it is not a JSON object with sum and held", errDamaged)
	}
	var held bytes.Buffer
	if err := json.Compact(&held, r.Held); err != nil || sumOf(held.Bytes()) != r.Sum {
		return fmt.Errorf("%w: its checksum does not match its content", errDamaged)
	}
	if unprintable(held.Bytes()) {
		return fmt.Errorf("%w: it has characters that cannot be printed", errDamaged)
	}
	d := json.NewDecoder(&held)
	d.DisallowUnknownFields()
	if d.Decode(v) != nil {
		return fmt.Errorf("%w: its fields differ from those that this version of the program writes", errDamaged)
	}
	if !v.consistent() {
		return fmt.Errorf("%w: its numbers contradict each other", errDamaged)
	}
	return nil
}

// unprintable reports whether a string in a JSON text contains an unprintable character. Records written by this
// program never contain any.
func unprintable(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if s, ok := token.(string); ok && strings.ContainsFunc(s, history.Unprintable) {
			return true
		}
	}
}

// longestCause is the maximum length, in characters, of a cause's kind and of its detail. Real causes are shorter.
const longestCause = 64

// consistentFindings reports whether the findings could have come from runs with the seeds in ran. laws says how many
// runs broke each law. Each finding must name a seed in ran, and no two may have the same law and cause. If n runs
// broke a law, each of its findings must have at most n runs, and all of them together at least n.
func consistentFindings(all campaign.Findings, laws campaign.Laws, ran Ranges) bool {
	broken, most, seen := map[checker.Law]int{}, map[checker.Law]int{}, map[campaign.Finding]bool{}
	for _, f := range all {
		named := campaign.Finding{Law: f.Law, Cause: f.Cause}
		if f.Runs < 1 || !slices.Contains(checker.Laws, f.Law) || f.Cause.Kind == "" || seen[named] ||
			len(f.Cause.Kind) > longestCause || len(f.Cause.Detail) > longestCause ||
			len(ran.common(Ranges{{f.First, f.First}})) == 0 {
			return false
		}
		seen[named] = true
		broken[f.Law], most[f.Law] = broken[f.Law]+min(f.Runs, math.MaxInt-broken[f.Law]), max(most[f.Law], f.Runs)
	}
	return !slices.ContainsFunc(laws, func(l campaign.Law) bool {
		return l.Violated < most[l.Law] || l.Violated > broken[l.Law]
	})
}

// consistentLaws reports whether each law's outcome counts add up to the number of runs.
func consistentLaws(tallies campaign.Laws, runs int) bool {
	return slices.EqualFunc(tallies, checker.Laws, func(t campaign.Law, l checker.Law) bool {
		free := t.Free()
		return t.Law == l && t.Holds+t.Violated+t.Undecided+t.Unchecked == runs &&
			min(free.Holds, free.Violated, free.Undecided, free.Unchecked, free.Excused) >= 0
	})
}
