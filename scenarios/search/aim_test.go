package search

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
)

// aimedAt is a scenario in which one kind of request is rare: the release that a client sends after a failed attempt.
const aimedAt = `name: aimed
servers: {redis: 3}
lock: {protocol: redlock, ttl: 1s}
work: {cycles: 20, hold: 20ms}
mix: {aimed: 100%, faults: 4, without: [jump of servers]}
`

// Aimed plans are valid: the mix allows them, they can be printed and parsed, they depend only on their seed, and their
// faults take effect.
func TestAimedPlansArePlans(t *testing.T) {
	s := parsed(t, aimedAt)
	plans, err := NewPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	named, struck, of := 0, 0, 0
	commands := map[string]int{}
	for seed := range uint64(200) {
		p := plans.Plan(seed)
		if p.Seed != baseOf(seed) {
			t.Fatalf("the plan of seed %d has the run's seed %d", seed, p.Seed)
		}
		if err := p.Validate(s.Targets()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if again, err := nemesis.ParsePlan("p", []byte(p.String())); err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("seed %d: %s parsed back as %v, %v", seed, p, again, err)
		}
		if seed%37 == 0 {
			other, err := NewPlans(s)
			if err != nil {
				t.Fatal(err)
			}
			if q := other.Plan(seed); !reflect.DeepEqual(p, q) {
				t.Errorf("seed %d: %s, and by another worker %s", seed, p, q)
			}
		}
		for _, f := range p.Faults {
			if of++; f.Trigger.Message.Named() {
				named++
				commands[f.Trigger.Message.Command]++
			}
			if strings.HasPrefix(f.String(), "jump redis") {
				t.Errorf("seed %d: %s, which the mix excludes", seed, f)
			}
		}
		if seed%8 == 0 {
			r, err := plans.looker.Run(p)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Missed) == 0 {
				struck++
			}
		}
	}
	if named < of/3 || struck < 10 {
		t.Errorf("%d of %d faults name a message; in %d of 25 runs all of these came", named, of, struck)
	}
	if len(commands) < 2 || commands["SET"] == 0 || commands["release"] == 0 {
		t.Errorf("aimed at %v", commands)
	}
}

// If the mix specifies how long faults last, an aimed fault lasts that long, too.
func TestAimedFaultsAreAsLongAsTheMixSays(t *testing.T) {
	plans, err := NewPlans(parsed(t, strings.Replace(aimedAt, "aimed: 100%",
		"aimed: 100%, downtime: 12s..24s, pause: 2s..3s, outage: 4s..5s, delay: 6s..7s", 1)))
	if err != nil {
		t.Fatal(err)
	}
	down, paused, out, late, aimed := 0, 0, 0, 0, 0
	for seed := range uint64(400) {
		for _, f := range plans.Plan(seed).Faults {
			low, high, n := 4*time.Second, 5*time.Second, &out
			length := f.For
			switch {
			case f.Restart > 0:
				low, high, n, length = 12*time.Second, 24*time.Second, &down, f.Restart
			case f.Kind == nemesis.Pause:
				low, high, n = 2*time.Second, 3*time.Second, &paused
			case f.Kind == nemesis.DelayMessage:
				low, high, n, length = 6*time.Second, 7*time.Second, &late, f.By
			case length == 0:
				continue
			}
			if *n++; length < low || length > high {
				t.Errorf("seed %d: %s", seed, f)
			}
			if f.Trigger.Message.Named() {
				aimed++
			}
		}
	}
	if min(down, paused, out, late, aimed) < 20 {
		t.Errorf("only %d restarts, %d pauses, %d outages, %d delays; %d aimed", down, paused, out, late, aimed)
	}
}

// With "aimed: 0%" in the mix, no faults are aimed at events in a fault-free run, so no such run is performed.
func TestNothingIsAimedIfTheMixSaysSo(t *testing.T) {
	s := parsed(t, strings.Replace(aimedAt, "aimed: 100%", "aimed: 0%", 1))
	plans, err := NewPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(50) {
		if p := plans.Plan(seed); p.Seed != seed || nemesis.NameMessages(p.Faults) || plans.looker != nil {
			t.Fatalf("seed %d: %s", seed, p)
		}
	}
}

// Aiming finds a violation that occurs only if one particular message is delayed. Random plans seldom delay it. The
// message is a failed attempt's release, and it must arrive after the next attempt has acquired the lock.
func TestWhatOneMessageBreaksIsFoundByAim(t *testing.T) {
	first := func(aimed string) int {
		s := parsed(t, `name: late
servers: {redis: 1}
lock: {protocol: set-nx-px, release: del, ttl: 2s}
work: {cycles: 12, hold: 50ms, think: 50ms}
mix: {aimed: `+aimed+`, guided: 0%, faults: 1, weights: {delay message: 1}}
promise: [lease-exclusion]
`)
		v, err := FindFirst(t.Context(), s, 0, 3000)
		if err != nil {
			t.Fatal(err)
		}
		return v.Runs
	}
	if aimed, random := first("100%"), first("0%"); aimed > random/2 {
		t.Errorf("found after %d aimed plans, and after %d random ones", aimed, random)
	}
}
