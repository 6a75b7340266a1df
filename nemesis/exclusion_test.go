package nemesis

import (
	"slices"
	"testing"
)

func TestExclusionsPrintAndParseBack(t *testing.T) {
	for _, line := range []string{
		"pause", "jump of servers", "jump of clients", "drift above 1000ppm", "drift of servers above 1ppm", "crash",
		"crash losing everything, restart within 10s", "crash losing unsynced writes of servers",
		"shut down, restart within 10s", "shut down, no restart", "crash losing everything of servers, no restart",
		"cut, no end", "cut of clients, no end", "drift above 10ppm, no end", "cut, one way", "cut of clients, one way",
		"delay", "delay message of resource", "slow fsync", "expire session", "fail over",
	} {
		x, err := ParseExclusion(line)
		if err != nil || x.String() != line {
			t.Errorf("%q: parsed as %q, %v", line, x, err)
		}
	}
}

func TestWrongExclusionsAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"":                         `column 1: ` + anyKind + `, found the end of the line`,
		"paus":                     `column 1: ` + anyKind + `, found "paus" (did you mean "pause"?)`,
		"jump of server":           `column 9: expected "clients", "servers" or "resource", found "server" (did you mean "servers"?)`,
		"jump above 10ppm":         `column 6: expected "of" or the end of the line, found "above"`,
		"drift above +10ppm":       `column 13: expected a rate such as 1000ppm, up to 500000ppm, found "+10ppm"`,
		"drift above 10":           `column 13: expected a rate such as 1000ppm, up to 500000ppm, found "10" (did you mean "10ppm"?)`,
		"drift above":              `column 12: expected a rate such as 1000ppm, found the end of the line`,
		"crash losing":             `column 13: expected "unsynced" or "everything", found the end of the line`,
		"crash, restart after 10s": `column 16: expected "within", found "after"`,
		"crash, not restart":       `column 8: expected "no" or "restart", found "not" (did you mean "no"?)`,
		"shut down, no":            `column 14: expected "restart", found the end of the line`,
		"cut, no restart":          `column 9: expected "end", found "restart"`,
		"cut, one direction":       `column 10: expected "way", found "direction"`,
		"drift, one way":           `column 8: expected "no", found "one"`,
		"crash, restart within 0s": `column 23: a duration must be longer than 0s, found "0s"`,
		"pause, restart within 1s": `column 6: expected "of" or the end of the line, found ","`,
	} {
		if _, err := ParseExclusion(line); err == nil || err.Error() != want {
			t.Errorf("%q: got  %v\nwant %s", line, err, want)
		}
	}
}

func TestExclusionsCoverWhatTheySay(t *testing.T) {
	for _, test := range []struct {
		exclusion string
		yes, no   []string
	}{
		{"pause", []string{"pause client-1 for 1s at 1s", "pause redis-1 for 1s at 1s"},
			[]string{"crash client-1 at 1s"}},
		{"jump of servers", []string{"jump redis-1 clock by +1s at 1s", "jump etcd-2 clock by -1s at 1s"},
			[]string{"jump client-1 clock by +1s at 1s", "jump resource clock by +1s at 1s",
				"pause redis-1 for 1s at 1s"}},
		{"jump of clients", []string{"jump client-1 clock by +1s at 1s"}, []string{"jump redis-1 clock by +1s at 1s"}},
		{"cut of clients, one way", []string{"cut client-1 -> redis-1 at 1s", "cut redis-1 -> client-1 at 1s for 1s"},
			[]string{"cut client-1 | redis-1 at 1s", "cut redis-1 -> redis-1-replica-1 at 1s"}},
		{"cut of resource", []string{"cut client-1 | resource at 1s"}, []string{"cut client-1 | redis-1 at 1s"}},
		{"drift above 1000ppm",
			[]string{"drift redis-1 clock by +1001ppm from 0s", "drift client-1 clock by -2000ppm from 0s"},
			[]string{"drift redis-1 clock by +1000ppm from 0s", "drift redis-1 clock by -1000ppm from 0s"}},
		{"crash losing everything, restart within 10s",
			[]string{"crash redis-1 losing everything at 1s, restart after 9.999s"},
			[]string{"crash redis-1 losing everything at 1s, restart after 10s",
				"crash redis-1 losing everything at 1s",
				"crash redis-1 losing unsynced writes at 1s, restart after 1s", "crash client-1 at 1s"}},
		{"crash of servers, no restart", []string{"crash redis-1 losing everything at 1s"},
			[]string{"crash redis-1 losing everything at 1s, restart after 10s", "crash client-1 at 1s",
				"shut down redis-1 at 1s"}},
		{"shut down, no restart", []string{"shut down redis-1 at 1s"},
			[]string{"shut down redis-1 at 1s, restart after 500ms"}},
		{"cut of clients, no end", []string{"cut client-1 | redis-1 at 1s"},
			[]string{"cut client-1 | redis-1 at 1s for 5s", "drift client-1 clock by +1ppm from 0s"}},
		{"drift, no end", []string{"drift redis-1 clock by +1ppm from 0s"},
			[]string{"drift redis-1 clock by +1ppm from 0s for 1s"}},
		{"shut down, restart within 1s", []string{"shut down redis-1 at 1s, restart after 500ms"},
			[]string{"shut down redis-1 at 1s"}},
	} {
		x, err := ParseExclusion(test.exclusion)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range slices.Concat(test.yes, test.no) {
			f, err := ParseFor(line, testNames)
			if err != nil {
				t.Fatal(err)
			}
			if want := slices.Contains(test.yes, line); x.Covers(f, &testNames) != want {
				t.Errorf("%q covers %q: %v", x, line, !want)
			}
		}
	}
}
