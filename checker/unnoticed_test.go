package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestAnEndThatIsNoticedLate judges histories in which a process died inside its section, at an unknown time after it
// was last known to be alive. The law is violated if every possible time of death violates it. It holds if none does.
func TestAnEndThatIsNoticedLate(t *testing.T) {
	for _, test := range []struct {
		alive, noticed, enters int
		want                   Outcome
		says                   string
	}{
		{alive: 0, noticed: 50, enters: 40, want: Violated, says: "had not yet left (it crashed at 50.000 s)"},
		{alive: 45, noticed: 50, enters: 40, want: Violated,
			says: "had not yet left (its process ended between 45.000 s and 50.000 s)"},
		{alive: 41, noticed: 50, enters: 40, want: Violated},
		{alive: 40, noticed: 50, enters: 40, want: Undecided},
		{alive: 3, noticed: 50, enters: 40, want: Undecided,
			says: "The end of a was noticed at 50.000 s, and it is known " +
				"to have been alive until 3.000 s: it is not known whether it was inside the critical section of " +
				"\"l\" together with b, which entered at 40.000 s."},
		{alive: 1, noticed: 50, enters: 40, want: Undecided},
		{alive: 1, noticed: 30, enters: 40, want: Holds},
	} {
		until := ""
		if test.alive != 0 {
			until = fmt.Sprintf(`,"until":%d000000000`, test.alive)
		}
		crash := fmt.Sprintf(`{"time":%d000000000,"process":"a","type":"info","f":"crash"%s}`, test.noticed, until)
		lines := []string{`{"time":1000000000,"process":"a","type":"invoke","f":"acquire","lock":"l"}`,
			`{"time":2000000000,"process":"a","type":"ok","f":"acquire","lock":"l","attempt":"a/1"}`,
			`{"time":3000000000,"process":"b","type":"invoke","f":"acquire","lock":"l"}`,
			fmt.Sprintf(`{"time":%d000000000,"process":"b","type":"ok","f":"acquire","lock":"l","attempt":"b/1"}`, test.enters),
			crash}
		if test.noticed < test.enters {
			lines[3], lines[4] = crash, lines[3]
		}
		h, err := history.Decode(strings.NewReader(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		f := new(Checker).CheckOnly(h, []Law{MutualExclusion}).Findings[0]
		if f.Outcome != test.want || !strings.Contains(f.Explanation, test.says) {
			t.Errorf("%+v: %v: %s", test, f.Outcome, f.Explanation)
		}
	}
}
