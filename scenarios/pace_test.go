package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// TestNoPeriodIsTooShort sets every documented duration setting to very short durations, in a run with a long hold and
// a network without delay. Either the file must be refused with an error at the setting, or the number of events must
// stay below a bound that corresponds to a few seconds of work.
func TestNoPeriodIsTooShort(t *testing.T) {
	const most = 2_000_000
	shorts := []string{"1ns", "0s", "1ms", "1ns..999us"}
	shorts = shorts[:testkit.Size(1, 1, len(shorts))]
	protocols := locks.Definitions()
	if !testkit.Thorough() {
		protocols = testkit.Sample(t, protocols)
	}
	refused := map[string]bool{}
	tried := 0
	for _, row := range documented(t) {
		for _, short := range shorts {
			for _, d := range protocols {
				base := crowded(t, d.Name, row.key)
				text := withKey(t, base, row.key, short)
				s, err := Parse("x.yaml", []byte(text))
				if err != nil {
					if strings.Contains(err.Error(), "recurs throughout a run") {
						refused[row.key] = true
					}
					continue
				}
				tried++
				r, err := NewRunner(s).Run(s.Plan(1))
				if err != nil || r.Events > most {
					t.Errorf("%s %s: %d events: %v\n%s", row.key, short, r.Events, err, text)
				}
			}
		}
	}
	if len(refused) != 6 && testkit.Thorough() || len(refused) < 4 || tried < len(protocols)/2*len(shorts) {
		t.Errorf("%v were refused, %d runs made", refused, tried)
	}
}

// crowds lists settings that increase the number of events in a run.
var crowds = []struct{ key, value string }{{"clients", "3"}, {"work.hold", "15s"}, {"network.delay", "0s"},
	{"lock.extension", "{}"}, {"servers.replicas", "1"}}

// bases caches crowded's results, by protocol and settings.
var bases = map[string]string{}

// crowded returns a protocol's minimal file, together with each setting in crowds that the protocol accepts, except the
// setting under test.
func crowded(t *testing.T, protocol locks.Protocol, tested string) string {
	t.Helper()
	others := slices.DeleteFunc(slices.Clone(crowds), func(with struct{ key, value string }) bool {
		return tested == with.key || strings.HasPrefix(with.key, tested+".")
	})
	made := fmt.Sprint(protocol, others)
	if bases[made] != "" {
		return bases[made]
	}
	base := minimal[protocol]
	for _, with := range others {
		if changed := withKey(t, base, with.key, with.value); valid(changed) {
			base = changed
		}
	}
	bases[made] = base
	return base
}

func valid(text string) bool {
	_, err := Parse("x.yaml", []byte(text))
	return err == nil
}
