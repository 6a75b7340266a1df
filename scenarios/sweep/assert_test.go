package sweep

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// sweepable is a scenario with a setting of every type that can be varied.
const sweepable = `name: sweepable
servers: {redis: 5, persistence: {append-fsync: always}}
network: {links: {"client-1 -> redis-1": 3ms}}
lock: {protocol: redlock, ttl: 10s, drift-allowance: 2%, retry: {delay: 20ms}}
work: {hold: 2s, compute: 40ms}
overrides:
  client-2: {lock: {ttl: 4s}, work: {start: 7s}}
faults:
  - crash redis-3 losing everything at 1s, restart after 11s
  - drift client-1 clock by -20000ppm from 0s
  - jump redis-1 clock by -5s at 2s
  - pause client-1 for 3s after the 2nd acquired
  - delay message 4 of client-1 -> redis-1 by 2s
expect: {lease-exclusion: holds}
`

func subjectOf(t testing.TB, text string) *Subject {
	t.Helper()
	s, err := scenarios.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewSubject(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func axisOf(t testing.TB, b *Subject, text string) Axis {
	t.Helper()
	a, err := b.Axis(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestConditionsCompute(t *testing.T) {
	b := subjectOf(t, sweepable)
	axes := []Axis{axisOf(t, b, "servers.fsync=1ms,5ms"), axisOf(t, b, "contact=parallel,sequential")}
	at := []Level{axes[0].Levels[1], axes[1].Levels[0]}
	for text, want := range map[string]bool{
		// Arithmetic is exact. In floating point, 0.1 + 0.2 would be greater than 0.3.
		"0.1 + 0.2 == 0.3": true, "lock.ttl * 1.01 + 2ms == 10.102s": true, "10s / 3 * 3 == 10s": true,
		// precedence and parentheses
		"2 + 3 * 4 == 14": true, "(2 + 3) * 4 == 20": true, "10 - 4 - 3 == 3": true, "-2 * -3 == 6": true,
		"!(1 > 2)": true, "1 > 2 && 1 > 2 || 2 > 1": true, "1 > 2 && (1 > 2 || 2 > 1)": false,
		// units of time, and rates
		"1m30s == 90s": true, "1500us == 1.5ms": true, "5s / 2s == 2.5": true, "1% == 10000ppm": true,
		"1 + 1% > 100%": true, "lock.ttl * 1% == 100ms": true, "1% * lock.ttl == 100ms": true, "-5s < 0s": true,
		"-5s<-2s": true,
		// Values from axes, values from the file, and defaults.
		"servers.fsync == 5ms": true, "contact == parallel": true, "contact != sequential": true,
		"servers.redis == 5": true,
		"lock.quorum == 3":   true, "clients == 2": true, "bound == lock.ttl": true, "lock.timeout == 50ms": true,
		"work.stagger == 10ms": true,
		"work.hold == 2s":      true, "compute == 40ms": true, "retry.delay == 20ms": true,
		"drift-allowance == 2%": true, "limit == 2m": true,
		// an override for one client, a link's delay, and values in faults
		"overrides.client-2.lock.ttl == 4s": true, "overrides.client-1.lock.ttl == 10s": true, "start == 7s": true,
		"restart == 11s": true, "faults.1.at == 1s": true, "ppm == -2%": true, "ppm == -20000ppm": true,
		"faults.3.by == -5s": true,
		"faults.4.for == 3s": true, "pass == 2": true, "number == 4": true, "faults.5.by == 2s": true,
	} {
		a, err := b.Assertion(axes, "ownership holds when "+text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := a.applies(b.vary(axes, at)); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestWrongAssertions checks that an error contains the column, what is wrong there, and the nearest valid word.
func TestWrongAssertions(t *testing.T) {
	b := subjectOf(t, sweepable)
	axes := []Axis{axisOf(t, b, "contact=parallel,sequential")}
	for text, want := range map[string]string{
		"": "column 1: expected a law (lease-exclusion, " +
			"mutual-exclusion, resource-safety, ownership, token-order, deadlock-freedom, fault-tolerance or " +
			"fairness), found the end",
		"lease-exclusoin holds when 1>2": `(did you mean "lease-exclusion"?)`,
		"ownership hold when 1 > 2":      `column 11: expected "holds when" or "is violated when", found "hold" (did you mean "holds"?)`,
		"ownership is broken when 1 > 2": `column 14: expected "violated", found "broken"`,
		"ownership holds if 1 > 2":       `column 17: expected "when" and a condition, found "if"`,
		"ownership holds " +
			"when": `column 21: expected a value such as ttl or 2ms, found the end`,
		"ownership holds when " +
			"restart": `column 22: expected a comparison such as restart >= ttl, found a duration`,
		"ownership holds when 1 > ":       `column 26: expected a value such as ttl or 2ms, found the end`,
		"ownership holds when (1 > 2":     `column 28: expected ")", found the end`,
		"ownership holds when 1 > 2)":     `column 27: expected an operator such as + or >=, found ")"`,
		"ownership holds when 1 2 > 1":    `column 24: expected an operator such as + or >=, found "2"`,
		"ownership holds when restrat>1s": `column 22: unknown key "restrat" (did you mean "restart"?)`,
		"ownership holds when ttl > " +
			"1s": `column 22: "ttl" could be lock.ttl or overrides.client-2.lock.ttl: write one of them`,
		"ownership holds when restart-2ms > " +
			"1s": `column 22: unknown key "restart-2ms" (did you mean "restart - 2ms"?)`,
		"ownership holds when restart = 1s":           `column 30: unknown operator "=" (did you mean "=="?)`,
		"ownership holds when restart => 1s":          `column 30: unknown operator "=>" (did you mean ">="?)`,
		"ownership holds when restart ≥ 1s":           `column 30: unknown operator "≥" (did you mean ">="?)`,
		"ownership holds when restart > 1s and 1 > 2": `column 35: unknown word "and" (did you mean "&&"?)`,
		"ownership holds when restart > 1":            `column 30: ">" cannot combine a duration and a number: a duration needs a unit, as in 2ms`,
		"ownership holds when restart + 1 > " +
			"1s": `column 30: "+" cannot combine a duration and a number: a duration needs a unit, as in 2ms`,
		"ownership holds when restart * restart > 1s": `column 30: "*" cannot combine a duration and a duration`,
		"ownership holds when ppm > " +
			"100": `column 26: ">" cannot combine a rate and a number: a rate needs a unit, as in 1% or 10000ppm`,
		"ownership holds when 1s < restart < " +
			"2s": `column 35: "<" cannot combine a comparison and a duration: join two comparisons with "&&"`,
		"ownership holds when 1 && restart > 1s": `column 24: "&&" cannot combine a number and a comparison`,
		"ownership holds when !restart > 1s":     `column 22: "!" cannot be applied to a duration`,
		"ownership holds when restart > " +
			"1sec": `column 32: unknown unit "sec", found "1sec" (did you mean "1s"?)`,
		"ownership holds when restart > 1.2.3s":   `column 32: expected a number, found "1.2.3s"`,
		"ownership holds when contact > parallel": `column 30: ">" cannot combine a word and a word`,
		"ownership holds when contact == " +
			"paralel": `column 33: unknown key "paralel" (did you mean "parallel"?)`,
		"ownership holds when fencing == " +
			"on": `column 22: the values of resource.fencing are words: they can be compared only if the sweep ` +
			"varies resource.fencing",
		"ownership holds when restart > 1s; 1 > 2": `column 34: unknown operator ";"`,
		"ownership holds when µ > 1s":              `column 22: unknown key "µ"`,
		"ownership holds when mix.pause > " +
			"1s": `column 22: mix.pause has no effect here: a sweep runs the faults that the file lists, and judges the runs itself`,
		"ownership holds when faults.1 > " +
			"1s": `column 22: faults.1 is a whole fault: vary one of its values, faults.1.restart or faults.1.at`,
		"ownership holds when faults.9.restart > " +
			"1s": `column 22: unknown key "faults.9.restart" (did you mean "faults.1.restart"?)`,
		"ownership holds when restart(1) > 2": `column 29: expected an operator such as + or >=, found "("`,
		"ownership holds when * 2 > 1":        `column 22: expected a value such as ttl or 2ms, found "*"`,
		"ownership holds when restart > 1s && delay > " +
			"1s": `column 38: "delay" could be network.delay or lock.retry.delay: write one of them`,
	} {
		_, err := b.Assertion(axes, text)
		var placed *nemesis.ParseError
		if !errors.As(err, &placed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// TestConditionsThatCannotBeComputed checks that a condition that cannot be evaluated at a point causes an error and is
// not treated as false.
func TestConditionsThatCannotBeComputed(t *testing.T) {
	b := subjectOf(t, sweepable)
	axes := []Axis{axisOf(t, b, "compute=0s,1s")}
	for text, want := range map[string]string{
		"ownership holds when restart / compute > 1": "column 30: division by zero",
		"ownership holds when network.delay > 1ms":   "network.delay is not a single number in this scenario",
		"ownership holds when extension.every > 1ms": "lock.extension.every is not a single number in this scenario",
		"ownership holds when overrides.client-9.lock.ttl>0s": "overrides.client-9.lock.ttl is not a single number " +
			"in this scenario",
	} {
		a, err := b.Assertion(axes, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := a.applies(b.vary(axes, axes[0].Levels[:1])); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestAssertionsAreJudgedByThePointsTried checks when an assertion is met. Its condition must be true at one or more
// valid points. At each of them, its law must be judged and have the claimed outcome.
func TestAssertionsAreJudgedByThePointsTried(t *testing.T) {
	for _, c := range []struct {
		want   checker.Outcome
		states []State
		comes  document.Result
	}{
		{checker.Holds, nil, document.NotJudged},
		{checker.Holds, []State{Invalid, Invalid}, document.NotJudged},
		{checker.Holds, []State{Safe, Invalid}, document.Passed},
		{checker.Holds, []State{Safe, Unjudged}, document.Undecided},
		{checker.Holds, []State{Unjudged, Broken}, document.Failed},
		{checker.Holds, []State{Broken, Unjudged}, document.Failed},
		{checker.Holds, []State{Safe, Chance}, document.Failed},
		{checker.Violated, []State{Broken, Chance}, document.Passed},
		{checker.Violated, []State{Broken, Unjudged}, document.Undecided},
		{checker.Violated, []State{Broken, Safe}, document.Failed},
	} {
		a := Asserted{Assertion: &Assertion{Law: checker.LeaseExclusion, Want: c.want}}
		for _, state := range c.states {
			a.count(pointOf(state, Level{}), 1)
		}
		if a.Standing != c.comes {
			t.Errorf("%v of %v comes to %v", c.want, c.states, a.Standing)
		}
	}
}
