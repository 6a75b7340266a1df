package sweep

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
)

func TestAxesAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"restart=0s..2s/500ms":                          "0s 500ms 1s 1.5s 2s",
		"restart=1s..2.2s/500ms":                        "1s 1.5s 2s",
		"lock.ttl=5s..5s/1s":                            "5s",
		"lock.ttl=1m..2m/30s":                           "60s 90s 120s",
		"faults.3.by=-2s..2s/1s":                        "-2s -1s 0s 1s 2s",
		"ppm=-1%..1%/5000ppm":                           "-10000ppm -5000ppm 0ppm 5000ppm 10000ppm",
		"drift-allowance=0%..2%/0.5%":                   "0% 0.5% 1% 1.5% 2%",
		"drift-allowance=off,1% + 2ms":                  "off 1% + 2ms",
		"quorum=1..5/2":                                 "1 3 5",
		"servers.redis=3,5,7":                           "3 5 7",
		"append-fsync=always, everysec ,no":             "always everysec no",
		"hold=1s,validity":                              "1s validity",
		"network.delay=1ms..2ms,1ms..9ms":               "1ms..2ms 1ms..9ms",
		"patience=none,5s":                              "none 5s",
		"network.links.client-1 | redis-2=1ms..3ms/1ms": "1ms 2ms 3ms",
		"overrides.client-1.work.start=0s,1s":           "0s 1s",
		"faults.1.restart,limit=10s,20s":                "10s 20s",
	} {
		var got []string
		a, err := subjectOf(t, sweepable).Axis(text)
		for _, l := range a.Levels {
			got = append(got, l.Text)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// TestWrongAxes checks that the error for a wrong axis says what is wrong and suggests the nearest valid word, without
// running anything.
func TestWrongAxes(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "expected KEY=FROM..TO/STEP such as restart=0s..12s/500ms, or KEY=A,B,C",
		"restart":            "expected KEY=FROM..TO/STEP",
		"=1s..2s/1s":         "expected KEY=FROM..TO/STEP",
		"restart=":           "expected KEY=FROM..TO/STEP",
		"restrat=1s..2s/1s":  `unknown key "restrat" (did you mean "restart"?)`,
		"lock.tll=1s..2s/1s": `unknown key "lock.tll" (did you mean "lock.ttl"?)`,
		"delay=1ms,2ms":      `"delay" could be network.delay or lock.retry.delay: write one of them`,
		"fsync=1ms,2ms":      `"fsync" could be servers.fsync or lock.wait.fsync: write one of them`,
		"mix.pause=1s,2s":    "mix.pause has no effect here",
		"name=a,b":           "name has no effect here",
		"faults.1=a,b": "faults.1 is a whole fault: vary one of its values, faults.1.restart or " +
			"faults.1.at",
		"faults.1.for=1s,2s":      `unknown key "faults.1.for"`,
		"restart=5s..1s/1s":       `the range 5s..1s is empty: its start is above its end (did you mean "1s..5s/1s"?)`,
		"restart=1s..5s/0s":       "a step must be above zero, not 0s",
		"restart=1s..5s/-1s":      "a step must be above zero, not -1s",
		"restart=1s..5s":          `the range "1s..5s" needs a step, as in 1s..5s/1s`,
		"quorum=1..5":             `the range "1..5" needs a step, as in 1..5/1`,
		"restart=1s..5s/":         "the step: expected a duration such as 500ms",
		"restart=1..5/1":          `a duration needs a unit: write 1s or 1ms, found "1"`,
		"restart=1s..5sec/1s":     `unknown unit "sec", found "5sec" (did you mean "5s"?)`,
		"restart=1s..5s/1ppm":     `the step: unknown unit "ppm"`,
		"restart=1s,x":            `expected a duration such as 500ms, found "x"`,
		"restart=0s..24h/1ms":     "86400001 points, but a sweep has at most 10000",
		"ppm=-30000..30000/1000":  `faults.2.ppm is a rate: expected one such as -20000ppm or 1%, found "-30000" (did you mean "-30000ppm"?)`,
		"clients=1s..5s/1s":       `clients is a count: expected a whole number such as 5, found "1s"`,
		"clients=1.5,2":           `clients is a count: expected a whole number such as 5, found "1.5"`,
		"lock.ttl=10,20":          `a duration needs a unit: write 10s or 10ms, found "10"`,
		"append-fsync=1..3/1":     "the values of servers.persistence.append-fsync are words, not numbers: list them",
		"append-fsync=always,,no": "a value is missing between two commas",
		"quorum=1,2,2":            "2 stands there twice",
		"lock.ttl=1000ms,1s":      "1s stands there twice",
		"limit,clients=1s,2s": "limit and clients cannot take the same values, because they are of " +
			"different kinds",
		"limit,limit=1s,2s":            "limit is named twice",
		"lock.extension.every.x=1s,2s": `unknown key "lock.extension.every.x" (did you mean "lock.extension.every"?)`,
	} {
		if _, err := subjectOf(t, sweepable).Axis(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestSettingsAreRead(t *testing.T) {
	b := subjectOf(t, sweepable)
	for _, text := range []string{"work.hold=validity", "lock.ttl=8s", "faults.2.ppm=1%",
		"faults.1=crash redis-2 losing everything at 1s",
		"faults.6=pause client-2 for 1s at 3s", "append-fsync=no", "faults.3.by=0s"} {
		if err := b.Set(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	v := b.vary(nil, nil)
	if v.problem != "" {
		t.Fatal(v.problem)
	}
	want := []string{"crash redis-2 losing everything at 1s", "drift client-1 clock by +10000ppm from 0s",
		"pause client-1 for 3s after the 2nd acquired",
		// a fault that makes a clock jump by 0s has no effect, so it is omitted
		"delay message 4 of client-1 -> redis-1 by 2s", "pause client-2 for 1s at 3s"}
	if got := v.doc.List("faults"); !slices.Equal(got, want) {
		t.Errorf("faults %q", got)
	}
	for path, want := range map[string]string{"work.hold": "validity", "lock.ttl": "8s",
		"servers.persistence.append-fsync": "no"} {
		if got, _ := v.doc.Get(path); got != want {
			t.Errorf("%s is %s", path, got)
		}
	}
	for text, want := range map[string]string{
		"lock.ttl":               "expected KEY=VALUE such as work.hold=validity",
		"=5s":                    "expected KEY=VALUE",
		"lock.ttl=":              "expected KEY=VALUE",
		"ltl=5s":                 `unknown key "ltl" (did you mean "ttl"?)`,
		"faults.1.at=soon":       `expected a duration such as 500ms, found "soon"`,
		"faults.9=pause":         "faults are numbered from 1, and the next one would be faults.7, not faults.9",
		"faults.0=pause":         "faults are numbered from 1",
		"faults.1=puase":         `faults.1: column 1: expected`,
		"expect.ownership=holds": "expect.ownership has no effect here",
	} {
		if err := b.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// TestEveryKeyCanBeVaried checks that the settings that can be varied are exactly those in FORMAT.md that affect runs.
func TestEveryKeyCanBeVaried(t *testing.T) {
	doc, err := os.ReadFile("../FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	// These keys cannot be varied: mappings, lists, names and flags, and keys that determine which faults are drawn and
	// which outcomes are expected.
	other := regexp.MustCompile(`^(name|summary|source|servers(\.notify-keyspace-events)?|network\.links|lock\.name|` +
		`work\.locks|overrides|faults|promise|expect.*|mix\..*)$`)
	known := map[string]bool{}
	v := variableKeys()
	for _, k := range slices.Concat(v.ofServers, v.ofClients, []Key{v.startOfClient}) {
		known[k.Path] = true
	}
	documented := 0
	for _, line := range strings.Split(string(doc), "\n") {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "or"), "|")
		if len(cells) != 6 || !strings.Contains(cells[1], "`") {
			continue
		}
		path := strings.Trim(cells[1], " `")
		documented++
		if varied := known[path]; varied == other.MatchString(path) {
			t.Errorf("%s: can be varied: %v", path, varied)
		}
		delete(known, path)
	}
	for _, f := range faultFields {
		if !strings.Contains(string(doc), "\n| `"+f.name+"` |") {
			t.Errorf("FORMAT.md does not say what %s is in the line of a fault", f.name)
		}
	}
	if documented < 90 || len(known) > 0 {
		t.Errorf("%d keys are documented; these are not: %v", documented, known)
	}
}

// TestKeysReadWhatTheyWrite checks that setting a setting to its current value does not change anything, whether or not
// the file specifies that value.
func TestKeysReadWhatTheyWrite(t *testing.T) {
	b := subjectOf(t, sweepable)
	before := b.vary(nil, nil)
	read := 0
	for _, k := range b.keys {
		if k.Unit == Words {
			continue
		}
		n, ok := before.read(k)
		if !ok || n == 0 && strings.HasPrefix(k.Path, "servers.") { // the key is not in use
			continue
		}
		read++
		v := b.vary([]Axis{{Name: k.Path, Keys: []*Key{k}}}, []Level{k.number(n)})
		if strings.HasPrefix(k.Path, "servers.") && v.problem != "" && strings.Contains(v.problem, "replicas") {
			continue // allowed only if there are replicas
		}
		if strings.Contains(v.problem, " is a setting of ") {
			continue // a key of another protocol
		}
		if got, ok := v.read(k); v.problem != "" || !ok || got != n {
			t.Errorf("%s: wrote %d, read %d; %s", k.Path, n, got, v.problem)
		}
	}
	if read < 30 {
		t.Errorf("only %d keys were read", read)
	}
}

func TestLawsThatAreJudged(t *testing.T) {
	b := subjectOf(t, sweepable)
	about := []*Assertion{{Law: checker.TokenOrder}}
	for _, c := range []struct {
		names []string
		about []*Assertion
		want  []checker.Law
	}{
		{nil, nil, []checker.Law{checker.LeaseExclusion}}, // the laws listed under expect
		{nil, about, []checker.Law{checker.LeaseExclusion, checker.TokenOrder}},
		{[]string{"ownership"}, about, []checker.Law{checker.Ownership, checker.TokenOrder}},
	} {
		if got, err := b.Judged(c.names, c.about); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, %v", c.names, got, err)
		}
	}
	if _, err := b.Judged([]string{"lease-exlusion"}, nil); err == nil ||
		err.Error() != `there is no law "lease-exlusion" (did you mean "lease-exclusion"?)` {
		t.Error(err)
	}
	promising := subjectOf(t, "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\npromise: [ownership]\n")
	if got, _ := promising.Judged(nil, nil); !slices.Equal(got, []checker.Law{checker.Ownership}) {
		t.Error(got)
	}
	silent := subjectOf(t, "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\n")
	if got, _ := silent.Judged(nil, nil); !slices.Equal(got, checker.Laws) {
		t.Error(got)
	}
}
