package kubernetes

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// unlike maps each scenario that client-go cannot reproduce to the reason why.
var unlike = map[string]string{
	"kubernetes-clocks-set":            byClock,
	"kubernetes-clocks-set-renew-time": byClock,
	"kubernetes-clock-rate":            byClock,
	"kubernetes-clock-rate-documented": byClock,
	"kubernetes-clock-rate-allowed":    byClock,
	"kubernetes-own-lease-duration":    "client-go goes by the duration in the record, from v0.27 on",
}

const byClock = "no fault reaches the clock that a goroutine reads"

// differs maps some scenarios to the law whose outcome differs between client-go and the simulated client. The comments
// give the reasons.
var differs = map[string]checker.Law{
	// A lock counts as valid until its library reports the loss. client-go reports the loss only after its release,
	// while the simulated client uses the renew deadline.
	"kubernetes-release-held-up": checker.LeaseExclusion,
}

// shorter maps some scenarios to the duration of a fault in the scenario and to the shorter duration that client-go
// needs. The comments give the reasons.
var shorter = map[string][2]string{
	// The simulated client already has a connection, but client-go must dial at about 16 s. It sends a SYN at 16, 17,
	// 19, 23 and 31 s, and gives up the release at 26 s.
	"kubernetes-release-clears-another": {"for 20s", "for 16s"},
}

var (
	lockLine = regexp.MustCompile(`(?m)^lock: \{protocol: lease-object(.*)\}$`)
	// overrides matches the settings of a single client.
	overrides = regexp.MustCompile(`(?m)^overrides:\n  (client-\d+): \{lock: \{(.*)\}\}$`)
)

// TestModelAndClientAgree checks that client-go and the simulated election agree. It replaces the simulated election
// with client-go in each of the catalog's Kubernetes scenarios that client-go can reproduce, with the scenario's
// settings and faults. Each law must have the outcome that the scenario expects, except where differs says otherwise.
func TestModelAndClientAgree(t *testing.T) {
	names := scenarios.Names()
	for _, name := range slices.Concat(slices.Collect(maps.Keys(unlike)), slices.Collect(maps.Keys(differs)),
		slices.Collect(maps.Keys(shorter))) {
		if !slices.Contains(names, name) {
			t.Errorf("there is no scenario %s", name)
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "kubernetes-") || unlike[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, err := scenarios.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			text := string(s.Text())
			if cut := shorter[name]; cut[0] != "" {
				if !strings.Contains(text, cut[0]) {
					t.Fatalf("no fault takes %q", cut[0])
				}
				text = strings.Replace(text, cut[0], cut[1], 1)
			}
			own := settingsOf(t, defaults, lockLine.FindStringSubmatch(text)[1])
			join := own.join
			if single := overrides.FindStringSubmatch(text); single != nil {
				other := settingsOf(t, own, ", "+single[2])
				join = func(c *locktest.Client) (locktest.Lock, error) {
					if c.Name == single[1] {
						return other.join(c)
					}
					return own.join(c)
				}
				text = overrides.ReplaceAllString(text, "")
			}
			text = lockLine.ReplaceAllString(text, "lock: {protocol: library, ttl: "+own.leaseDuration.String()+"}")
			text, _, _ = strings.Cut(text, "\nexpect:")
			file := filepath.Join(t.TempDir(), name+".yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, ok := locktest.Explore(t, locktest.Config{Scenario: file, New: join, Seeds: 4, SkipTrial: true})
			if !ok {
				return
			}
			for law, want := range s.Expect.Laws {
				broken := r.Violated(law)
				if differs[name] == law {
					if broken == 0 {
						t.Errorf("%s does not differ", law)
					}
					continue
				}
				if want.Outcome == checker.Violated && broken < r.Runs || want.Outcome == checker.Holds && broken > 0 {
					t.Errorf("%s is violated in %d of %d runs of client-go, and of the model: %v", law, broken, r.Runs,
						want.Outcome)
				}
			}
		})
	}
}

// settingsOf returns a copy of s with the settings of a simulated election that are listed in text.
func settingsOf(t *testing.T, s settings, text string) settings {
	t.Helper()
	for _, setting := range strings.Split(text, ", ")[1:] {
		key, value, _ := strings.Cut(setting, ": ")
		duration := func() time.Duration {
			d, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		switch key {
		case "ttl":
			s.leaseDuration = duration()
		case "renew-deadline":
			s.renewDeadline = duration()
		case "retry-period":
			s.retryPeriod = duration()
		case "timeout":
			s.timeout = duration()
		case "lease-duration": // client-go has no choice
			if value != "recorded" {
				t.Fatalf("client-go does not go by %s: %s", key, value)
			}
		case "release-on-cancel":
			s.release = value == "on"
		case "value":
			s.identity = value
		default:
			t.Fatalf("no setting of client-go: %s", key)
		}
	}
	return s
}
