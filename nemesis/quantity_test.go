package nemesis

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestDurationsPrintAsTheDesignWritesThem(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s":                    0,
		"1ns":                   1,
		"999ns":                 999,
		"1us":                   time.Microsecond,
		"1.001us":               1001,
		"200us":                 200 * time.Microsecond,
		"500ms":                 500 * time.Millisecond,
		"999.999999ms":          time.Second - 1,
		"1.2s":                  1200 * time.Millisecond,
		"60s":                   time.Minute,
		"3600.000000001s":       time.Hour + 1,
		"86400s":                MaxDuration,
		"86399.999999999s":      MaxDuration - 1,
		"9223372036.854775807s": 1<<63 - 1,
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%d ns printed as %s, want %s", d, got, want)
		}
		if d > 0 && FormatDuration(-d) != "-"+want {
			t.Errorf("-%d ns printed as %s", d, FormatDuration(-d))
		}
		if got, err := ParseDuration(want); d <= MaxDuration && (got != d || err != nil) {
			t.Errorf("%s read as %d, %v", want, got, err)
		}
	}
}

// TestDurationsParseBack checks that each printed duration parses to an equal duration. It tries all values of one to
// three adjacent digits, at every decimal place.
func TestDurationsParseBack(t *testing.T) {
	for scale := time.Duration(1); scale <= MaxDuration; scale *= 10 {
		for n := range time.Duration(1000) {
			d := n * scale
			if d > MaxDuration {
				break
			}
			text := string(appendDuration(nil, d))
			got, problem, _ := parseDuration(text)
			if twin, err := time.ParseDuration(text); got != d || problem != "" || twin != d || err != nil {
				t.Fatalf("%d printed %s, parsed %d %q; time.ParseDuration %d %v", d, text, got, problem, twin, err)
			}
		}
	}
}

func TestEveryWayToWriteAUnitLeadsToAUnit(t *testing.T) {
	for written, unit := range unitsMeant {
		if nearestUnit(unit) != unit {
			t.Errorf("%q is no unit", unit)
		}
		for _, text := range []string{written, strings.ToUpper(written)} {
			if got := nearestUnit(text); got != unit {
				t.Errorf("%q taken for %q, want %q", text, got, unit)
			}
		}
	}
}

func TestRatesParseBack(t *testing.T) {
	for ppm := -MaxPPM - 1; ppm <= MaxPPM+1; ppm++ {
		text := strconv.Itoa(ppm) + "ppm"
		if ppm >= 0 {
			text = "+" + text
		}
		got, problem, _ := parsePPM(text)
		if right := ppm != 0 && max(ppm, -ppm) <= MaxPPM; right != (problem == "") || right && got != ppm {
			t.Fatalf("%s parsed as %d, problem %q", text, got, problem)
		}
	}
}

func TestOrdinals(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 10: "10th", 11: "11th", 12: "12th",
		13: "13th", 21: "21st", 22: "22nd", 101: "101st", 111: "111th", 112: "112th", 1000: "1000th"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestWhatNamesAProcess(t *testing.T) {
	for _, name := range []string{"client-1", "redis-12", "redis-1-replica-2", "etcd-3", "zookeeper-1", "resource"} {
		if !isProcess(name) {
			t.Errorf("%q names no process", name)
		}
	}
	for _, name := range []string{"", "client", "client-", "client-0", "client-01", "client-1-", "-1", "1-1",
		"client--1", "client-1-2",
		"Client-1", "client-1a", "clïent-1", "at", "for", "after", "the", "resource-", strings.Repeat("c", 64) + "-1"} {
		if isProcess(name) {
			t.Errorf("%q names a process", name)
		}
	}
}

func TestWrongDurationsAreDistinguished(t *testing.T) {
	for text, want := range map[string]string{
		"":      "column 1: expected a duration such as 500ms",
		"5":     `column 1: a duration needs a unit: write 5s or 5ms`,
		"-5s":   `column 1: a duration must not have a sign here (did you mean "5s"?)`,
		"5secs": `column 1: unknown unit "secs" (did you mean "5s"?)`,
		"25h":   "column 1: a duration must be at most 24h",
	} {
		if _, err := ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
