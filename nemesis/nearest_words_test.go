package nemesis

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/sim"
)

// slips returns misspellings of a word: in upper case, with one letter too many or too few, with two letters swapped,
// with "_" instead of "-", and without hyphens. It also returns words and numbers that belong elsewhere in a line.
func slips(word string) []string {
	all := []string{
		strings.ToUpper(word),
		word + "x",
		"x" + word,
		strings.ReplaceAll(word, "-", ""),
		strings.ReplaceAll(word, "-", "_"),
		"worker-1",
		"worker1",
		"client1",
		"client_9",
		"redis1",
		"redis-9",
		"resource-1",
		"sentinel",
		"5000",
		"5 s",
		"1.5",
		"+5",
		"-5000",
		"200",
		"1th",
	}
	for i := range word {
		all = append(all, word[:i]+word[i+1:])
		if i > 0 {
			all = append(all, word[:i-1]+string(word[i])+string(word[i-1])+word[i+1:])
		}
	}
	return all
}

// TestTheNearestWordIsAccepted checks that a word suggested in an error is valid at the error's position. If the user
// writes it there, the line must become valid, or the next error must be at a later position.
func TestTheNearestWordIsAccepted(t *testing.T) {
	known := Names{
		Clients: []sim.ProcessID{"client-1", "client-2"},
		Redis:   []sim.ProcessID{"redis-1", "redis-1-replica-1", "redis-2"},
		Groups: [][]sim.ProcessID{
			{"redis-1", "redis-1-replica-1"},
			{"redis-2"},
		},
		Sentinel: "sentinel-1",
		Resource: "resource",
	}
	lines := []string{
		"pause client-1 for 15s after acquired", "jump redis-1 clock by +30s at 1s",
		"drift client-2 clock by +200ppm from 1s for 5s",
		"crash redis-1 losing unsynced writes at 1s, restart after 2s",
		"crash client-1 after the 2nd acquired by client-1",
		"shut down redis-2 at 1s, restart after 1s", "fail over redis-1 to redis-1-replica-1 at 1s",
		"cut client-1 client-2 | redis-1 at 1s for 2s",
		"delay client-1 -> redis-1 by 1s at 1s for 2s", "delay message 3 of client-1 -> redis-1 by 2s",
		"break client-1 | redis-1 before reply 2",
		"slow fsync of redis-1 by 1s at 1s for 2s",
	}
	offered := 0
	for _, line := range lines {
		if _, err := ParseFor(line, known); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		words := strings.Fields(line)
		for i, word := range words {
			for _, slip := range slips(word) {
				wrong := strings.Join(append(append(append([]string{}, words[:i]...), slip), words[i+1:]...), " ")
				_, err := ParseFor(wrong, known)
				bad, _ := err.(*ParseError)
				if bad == nil || bad.Nearest == "" {
					continue
				}
				offered++
				at := bad.Column - 1
				rest := strings.TrimLeftFunc(wrong[at:], func(r rune) bool { return r != ' ' && r != ',' })
				end := len(wrong) - len(rest)
				right := wrong[:at] + bad.Nearest + wrong[end:]
				_, err = ParseFor(right, known)
				again, _ := err.(*ParseError)
				if again != nil && again.Column < bad.Column+len(bad.Nearest) {
					t.Errorf("%s\n%v\nbut with it: %v", wrong, bad, again)
				}
			}
		}
	}
	if offered < 500 {
		t.Errorf("only %d words were offered", offered)
	}
}

// TestNoProcessIsGuessedWithoutTheRun checks that an error does not suggest a process if the run's processes are not
// known, because a process with a similar name might not exist.
func TestNoProcessIsGuessedWithoutTheRun(t *testing.T) {
	for word, meant := range map[string]string{"worker1": "", "Client1": "client-1", "client_01": "client-1",
		"client-0": "client-1", "resorce": "resource"} {
		line := "pause " + word + " for 1s at 1s"
		_, err := Parse(line)
		if bad, _ := err.(*ParseError); bad == nil || bad.Nearest != "" {
			t.Errorf("%s: %v", line, err)
		}
		_, err = ParseFor(line, testNames)
		if bad, _ := err.(*ParseError); bad == nil || bad.Nearest != meant {
			t.Errorf("%s: %v, want %s", line, err, meant)
		}
	}
}

// TestAMereNumberIsOfferedWithItsUnits checks which units WithUnit suggests for a number, and that the number with each
// of them is a valid duration.
func TestAMereNumberIsOfferedWithItsUnits(t *testing.T) {
	for number, want := range map[string]string{"5000": "5000ms or 5s", "1500": "1500ms or 1.5s", "10": "10s or 10ms",
		"1.5":   "1.5s or 1.5ms",
		"30000": "30000ms or 30s", "0": "0s"} {
		if got := WithUnit("", number); got != want {
			t.Errorf("%s: %s, want %s", number, got, want)
		}
		for _, one := range strings.Split(want, " or ") {
			if _, err := ParseDuration(one); err != nil {
				t.Errorf("%s: %v", one, err)
			}
		}
	}
}
