package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// TestAProgramIsGivenWhatIsListed checks the passedSettings list. It must contain exactly the settings in the "lock"
// and "work" mappings that affect the environment of a client's program.
func TestAProgramIsGivenWhatIsListed(t *testing.T) {
	const text = "name: lock\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 7s}\n"
	work := func(path, value string) (env string, s *scenarios.Scenario) {
		doc, err := format.ParseDocument("lock", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if path != "" {
			doc.Set(path, value)
		}
		if s, err = scenarios.Parse("lock", []byte(doc.String())); err != nil {
			return "", nil
		}
		return strings.Join(newClient(&stage{}, &s.Clients[0], 0).work(), "\n"), s
	}
	before, s := work("", "")
	seen := map[bool][]string{}
	all, _ := scenarios.Variables()
	for _, v := range all {
		if !strings.HasPrefix(v.Path, "lock.") && !strings.HasPrefix(v.Path, "work.") || v.Value == nil {
			continue
		}
		for _, value := range append(slices.Clone(v.Form.Words), "2", "3s", "40ms..60ms") {
			env, other := work(v.Path, value)
			if other == nil || v.Value(other, &other.Clients[0]) == v.Value(s, &s.Clients[0]) {
				continue
			}
			listed := slices.Contains(passedSettings, v.Path)
			seen[listed] = append(seen[listed], v.Path)
			if (env != before) != listed {
				t.Errorf("%s: %s: listed: %t, but the environment changes: %t", v.Path, value, listed, env != before)
			}
		}
	}
	if len(slices.Compact(seen[true])) < 5 || len(slices.Compact(seen[false])) < 5 {
		t.Errorf("too few keys were changed: %v", seen)
	}
}
