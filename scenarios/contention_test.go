package scenarios

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// TestTheAlarmOfContentionRingsWhereClientsCrowd checks that eight clients that compete for a lock and never give up
// find it taken most of the time, which raises the contention alarm. A single client must never raise the alarm. Nobody
// gives up, so no acquire may count as a time-out.
func TestTheAlarmOfContentionRingsWhereClientsCrowd(t *testing.T) {
	for _, d := range testkit.Sample(t, locks.Definitions()) {
		for clients, alarms := range map[string]bool{"1": false, "8": true} {
			s := parseText(t, minimal[d.Name]+"clients: "+clients+"\nwork: {cycles: 3, hold: 1s}\n")
			result, err := NewRunner(s).Run(s.Plan(1))
			if err != nil {
				t.Fatal(err)
			}
			m := checker.Measure(result.History)
			contention, _ := m.Of("lock_contention_rate")
			timeouts, _ := m.Of("lock_timeout_rate")
			if contention.Alarming() != alarms || !alarms && contention.Value != 0 || contention.Samples == 0 {
				t.Errorf("%s, %s clients: contention %+v", d.Name, clients, contention)
			}
			if timeouts.Value != 0 || timeouts.Samples == 0 {
				t.Errorf("%s, %s clients: time-outs %+v although nobody gives up", d.Name, clients, timeouts)
			}
		}
	}
}

// TestAcquiresThatGiveUpAreTimeouts checks the lock timeout rate, which is the share of acquire calls that gave up. It
// must differ from the contention rate.
func TestAcquiresThatGiveUpAreTimeouts(t *testing.T) {
	s := parseText(t, "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px, retry: {count: 3, delay: "+
		"200ms}}\nwork: {cycles: 4, hold: 1s}\n")
	result, err := NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	m := checker.Measure(result.History)
	contention, _ := m.Of("lock_contention_rate")
	timeouts, _ := m.Of("lock_timeout_rate")
	if timeouts.Value <= 0 || timeouts.Value >= contention.Value || contention.Samples <= timeouts.Samples {
		t.Errorf("contention %+v, time-outs %+v", contention, timeouts)
	}
}
