package nemesis

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// grammarLine is a line and the fault it describes.
type grammarLine struct {
	line  string
	fault Fault
}

// grammar lists the documented lines that define the grammar, with the faults they describe. The test file for each
// newer kind adds its own lines.
var grammar = []grammarLine{
	{"pause client-1 for 15s after acquired",
		Fault{Kind: Pause, Target: "client-1", For: 15 * time.Second, Trigger: Trigger{Point: sim.Acquired, Pass: 1}}},
	{"pause redis-2 for 3s at 1.2s",
		Fault{Kind: Pause, Target: "redis-2", For: 3 * time.Second, Trigger: Trigger{Time: 1200 * time.Millisecond}}},
	{"jump redis-3 clock by +30s at 4s",
		Fault{Kind: Jump, Target: "redis-3", By: 30 * time.Second, Trigger: Trigger{Time: 4 * time.Second}}},
	{"jump client-1 clock by -5s at clock-read",
		Fault{Kind: Jump, Target: "client-1", By: -5 * time.Second,
			Trigger: Trigger{Point: sim.ClockRead, Pass: 1, SaidAt: true}}},
	{"drift redis-1 clock by +20000ppm from 0s for 60s",
		Fault{Kind: Drift, Target: "redis-1", PPM: 20000, For: time.Minute}},
	{"crash client-1 after acquired",
		Fault{Kind: Crash, Target: "client-1", Trigger: Trigger{Point: sim.Acquired, Pass: 1}}},
	{"crash redis-2 losing unsynced writes at 1.2s, restart after 500ms",
		Fault{Kind: Crash, Target: "redis-2", Loss: LosesUnsynced, Restart: 500 * time.Millisecond,
			Trigger: Trigger{Time: 1200 * time.Millisecond}}},
	{"crash redis-2 losing everything at 1.2s, restart after 11s",
		Fault{Kind: Crash, Target: "redis-2", Loss: LosesEverything, Restart: 11 * time.Second,
			Trigger: Trigger{Time: 1200 * time.Millisecond}}},
	{"shut down redis-2 at 1.2s, restart after 500ms",
		Fault{Kind: ShutDown, Target: "redis-2", Restart: 500 * time.Millisecond,
			Trigger: Trigger{Time: 1200 * time.Millisecond}}},
	{"fail over redis-1 to redis-1-replica-1 at 2s",
		Fault{Kind: FailOver, Target: "redis-1", Peer: "redis-1-replica-1", Trigger: Trigger{Time: 2 * time.Second}}},
	{"cut client-1 | redis-1 redis-2 at 1s for 5s",
		Fault{Kind: Cut, Left: ids("client-1"), Right: ids("redis-1 redis-2"), For: 5 * time.Second,
			Trigger: Trigger{Time: time.Second}}},
	{"cut client-1 -> redis-1 at 1s for 5s",
		Fault{Kind: Cut, Left: ids("client-1"), Right: ids("redis-1"), OneWay: true, For: 5 * time.Second,
			Trigger: Trigger{Time: time.Second}}},
	{"delay client-1 -> resource by 90s after before-write",
		Fault{Kind: DelayLink, Target: "client-1", Peer: "resource", By: 90 * time.Second,
			Trigger: Trigger{Point: sim.BeforeWrite, Pass: 1}}},
	{"delay message 3 of client-1 -> redis-2 by 4s",
		Fault{Kind: DelayMessage, Target: "client-1", Peer: "redis-2", By: 4 * time.Second, Number: 3}},
	{"break client-1 | redis-2 before reply 1",
		Fault{Kind: Break, Target: "client-1", Peer: "redis-2", Number: 1}},
	{"slow fsync of redis-1 by 2s at 1s for 10s",
		Fault{Kind: SlowFsync, Target: "redis-1", By: 2 * time.Second, For: 10 * time.Second,
			Trigger: Trigger{Time: time.Second}}},
	{"expire session of client-1 at 2s",
		Fault{Kind: ExpireSession, Target: "client-1", Trigger: Trigger{Time: 2 * time.Second}}},
}

func ids(names string) []sim.ProcessID {
	var list []sim.ProcessID
	for _, name := range strings.Fields(names) {
		list = append(list, sim.ProcessID(name))
	}
	return list
}

func TestEveryLineOfTheDesignMeansWhatItSays(t *testing.T) {
	seen := map[Kind]bool{}
	for _, g := range grammar {
		f, err := Parse(g.line)
		if err != nil {
			t.Errorf("%s: %v", g.line, err)
			continue
		}
		if !reflect.DeepEqual(f, g.fault) {
			t.Errorf("%s\n got %+v\nwant %+v", g.line, f, g.fault)
		}
		if s := g.fault.String(); s != g.line {
			t.Errorf("printed %q, want %q", s, g.line)
		}
		seen[f.Kind] = true
	}
	if len(seen) != len(Kinds) {
		t.Errorf("%d of %d kinds have a line in grammar", len(seen), len(Kinds))
	}
}

// TestWaysOfWriting checks lines that are accepted but printed in a different form.
func TestWaysOfWriting(t *testing.T) {
	for line, printed := range map[string]string{
		"\t pause  client-1\tfor 15s  after acquired ": "pause client-1 for 15s after acquired",
		"pause client-1 for 1m30s at 1h":               "pause client-1 for 90s at 3600s",
		"pause client-1 for 1.50s at 0.25ms":           "pause client-1 for 1.5s at 250us",
		"pause client-1 for 3µs at 0.5us":              "pause client-1 for 3us at 500ns",
		"pause client-1 for 15s at the 1st acquired":   "pause client-1 for 15s at acquired",
		"cut client-1->redis-1 redis-2 at 1s":          "cut client-1 -> redis-1 redis-2 at 1s",
		"cut client-1|redis-1 at 1s":                   "cut client-1 | redis-1 at 1s",
		"shut down redis-1 at 1s ,restart after 3s":    "shut down redis-1 at 1s, restart after 3s",
		"jump redis-1 clock by +0.5m after acquired by client-2": "jump redis-1 clock by +30s after acquired by " +
			"client-2",
		"drift redis-1 clock by -00100ppm after the 12th acquired": "drift redis-1 clock by -100ppm after the 12th " +
			"acquired",
	} {
		f, err := Parse(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		} else if f.String() != printed {
			t.Errorf("%q printed as %q, want %q", line, f, printed)
		}
	}
}

func TestEveryKindPrintsAndParsesBackWithEveryTrigger(t *testing.T) {
	triggers := []Trigger{{}, {Time: 1}, {Time: MaxDuration}}
	for _, point := range sim.Points {
		for _, pass := range []int{1, 2, 3, 4, 11, 12, 13, 21, 102, 111, MaxNumber} {
			for _, saidAt := range []bool{false, true} {
				for _, by := range []sim.ProcessID{"", "client-2"} {
					triggers = append(triggers, Trigger{Point: point, Pass: pass, SaidAt: saidAt, By: by})
				}
			}
		}
	}
	for _, g := range grammar {
		if !g.fault.Kind.Has(FieldTrigger) {
			continue
		}
		for _, trigger := range triggers {
			f := g.fault
			f.Trigger = trigger
			for _, lasting := range []time.Duration{0, 7 * time.Millisecond} {
				if f.Kind == Cut || f.Kind == Drift || f.Kind == DelayLink {
					f.For = lasting
				}
				if f.Kind == Crash || f.Kind == ShutDown {
					f.Restart = lasting
				}
				got, err := Parse(f.String())
				if err != nil || !reflect.DeepEqual(got, f) {
					t.Fatalf("%q parsed as %+v, %v; want %+v", f, got, err, f)
				}
			}
		}
	}
}

func TestOnNamesSendersFirst(t *testing.T) {
	for line, want := range map[string]string{
		"pause client-1 for 15s after acquired":              "[client-1]",
		"cut client-2 client-1 -> redis-1 redis-2 at 1s":     "[client-2 client-1 redis-1 redis-2]",
		"delay redis-1 -> client-1 by 1s at 1s":              "[redis-1 client-1]",
		"delay message 1 of client-1 -> redis-1 by 1s":       "[client-1 redis-1]",
		"break client-1 | redis-1 before reply 1":            "[client-1 redis-1]",
		"fail over redis-1 to redis-1-replica-1 at 1s":       "[redis-1 redis-1-replica-1]",
		"slow fsync of redis-1 by 2s at 1s for 10s":          "[redis-1]",
		"expire session of client-1 at 2s":                   "[client-1]",
		"crash redis-1 losing everything after acquired":     "[redis-1]",
		"jump redis-3 clock by +30s at acquired by client-1": "[redis-3]",
	} {
		f := mustParse(t, line)
		if got := fmt.Sprint(f.On()); got != want {
			t.Errorf("%s: strikes %s, want %s", line, got, want)
		}
	}
}

func TestPointIsPassedByTheFirstClientNamedUnlessAnotherIs(t *testing.T) {
	for line, want := range map[string]sim.ProcessID{
		"pause client-2 for 15s after acquired":                   "client-2",
		"pause client-2 for 15s after acquired by client-1":       "client-1",
		"pause client-2 for 15s at 1s":                            "",
		"pause redis-1 for 15s after acquired":                    "",
		"pause redis-1 for 15s after acquired by client-3":        "client-3",
		"delay client-1 -> resource by 90s after before-write":    "client-1",
		"delay redis-1 -> client-2 by 1s after acquired":          "client-2",
		"cut redis-1 redis-2 | client-3 client-1 after acquired":  "client-3",
		"cut redis-1 | redis-1-replica-1 after acquired":          "",
		"delay message 1 of client-1 -> redis-1 by 1s":            "",
		"expire session of client-1 after the 2nd before-release": "client-1",
	} {
		if got := mustParse(t, line).PassedBy(); got != want {
			t.Errorf("%s: point passed by %q, want %q", line, got, want)
		}
	}
}

func TestUsageOpensWithTheWordsOfEachKind(t *testing.T) {
	usage := Usage()
	rest := usage[len(Kinds):]
	if len(rest) != 4 || !strings.HasPrefix(rest[2], "WHEN: ") || !strings.HasPrefix(rest[3], "MESSAGE: ") {
		t.Fatalf("after the %d kinds: %q", len(Kinds), rest)
	}
	for i, k := range Kinds {
		if !strings.HasPrefix(usage[i], k.String()+" ") {
			t.Errorf("usage of %q is %q", k, usage[i])
		}
	}
	if got := usage[Crash-1]; got != "crash PROCESS [losing unsynced writes | losing everything] WHEN [, restart "+
		"after DURATION]" {
		t.Errorf("crash: %s", got)
	}
}

func TestWhatIsNoKindSaysSo(t *testing.T) {
	for _, k := range []Kind{0, MaxKinds, MaxKinds + 1, 255} {
		if got := (Fault{Kind: k}).String(); got != "unknown fault" {
			t.Errorf("kind %d prints %q", k, got)
		}
	}
}

func mustParse(t *testing.T, line string) Fault {
	t.Helper()
	f, err := Parse(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return f
}

func TestRenamedFaultsNameOthersInTheSamePlaces(t *testing.T) {
	names := strings.NewReplacer("client-1", "client-4", "redis-1", "redis-3",
		"redis-2", "redis-1", "resource", "resource")
	for _, g := range grammar {
		got := g.fault.Renamed(func(p sim.ProcessID) sim.ProcessID { return sim.ProcessID(names.Replace(string(p))) })
		if want := names.Replace(g.line); got.String() != want {
			t.Errorf("%s: %s, want %s", g.line, got, want)
		}
		if g.fault.String() != g.line {
			t.Errorf("%s was changed to %s", g.line, g.fault)
		}
	}
}
