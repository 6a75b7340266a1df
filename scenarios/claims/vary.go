package claims

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// describing lists the scenario file settings that do not affect a run with a given plan.
var describing = []string{"faults", "mix", "expect", "promise"}

// fixed lists the settings that a variation does not change. They determine how long a run lasts and what is required
// of the lock.
var fixed = []string{"limit", "bound"}

// mostVaried is the maximum number of settings that a variation changes.
const mostVaried = 3

// Variation returns s with one to three settings changed, for all clients or for one. A new value can be anything that
// the format accepts. The result has no faults of its own. The same seed always gives the same variation.
func Variation(s *scenarios.Scenario, seed uint64) (*scenarios.Scenario, error) {
	dice := rand.New(rand.NewPCG(seed, 0x76617279))
	doc, err := format.ParseDocument(s.Name, s.Text())
	if err != nil {
		return nil, err
	}
	for _, key := range describing {
		doc.Remove(key)
	}
	doc.Set("name", fmt.Sprintf("%s-varied-%d", s.Name, seed))
	keys, own := scenarios.Variables()
	keys = slices.DeleteFunc(append(keys, own...), func(v scenarios.Variable) bool {
		return slices.Contains(fixed, v.Path) || len(v.Form.Words) == 0 && v.Value == nil
	})
	varied, err := scenarios.Parse(s.Name, []byte(doc.String()))
	for left := 1 + dice.IntN(mostVaried); left > 0 && err == nil; {
		v := keys[dice.IntN(len(keys))]
		path := v.Path
		if v.Own && dice.IntN(3) == 0 {
			path = fmt.Sprintf("overrides.client-%d.%s", 1+dice.IntN(len(s.Clients)), path)
		}
		other := doc.Clone()
		other.Set(path, value(dice, &v.Form))
		if next, refused := scenarios.Parse(s.Name, []byte(other.String())); refused == nil {
			doc, varied = other, next
			left--
		}
	}
	return varied, err
}

// value returns a random value that the form allows: one of its words, or a number. It avoids numbers that would make a
// run too long.
func value(dice *rand.Rand, f *format.Form) string {
	length := func() int64 { return (10 << dice.IntN(10)) * int64(time.Millisecond) } // 10 ms to 5 s
	delay := func() string {
		from := length()
		return format.DurationText(from) + ".." + format.DurationText(from+length())
	}
	if n := dice.IntN(len(f.Words) + 1); n < len(f.Words) {
		return f.Words[n]
	}
	switch f.Kind {
	case format.Count:
		return strconv.FormatInt(f.Least+dice.Int64N(min(f.Most-f.Least, 4)+1), 10)
	case format.Delay:
		return delay()
	case format.Share:
		return "1% " + delay()
	case format.Allowance:
		return fmt.Sprintf("%d%% + 2ms", dice.IntN(10))
	case format.Duration:
		return format.DurationText(f.Nearest(length()))
	default:
		return "" // the format does not accept it
	}
}
