package checker

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

const measured = `
header clients=client-1,client-2 servers=redis-1 ttl=10s locks=orders
0s client-1 acquire invoke
1s client-1 acquire ok
1s client-2 acquire invoke
2s resource apply op=read of=client-1/1
2s resource apply fail op=write of=client-2/1 why=stale_token
10s client-1 release invoke
10s client-1 release ok
12s client-1 acquire invoke
17s client-2 acquire ok
18s client-2 crashed
22s client-1 acquire fail why=timeout
23s client-1 acquire invoke
23.5s client-1 acquire fail
24s probe acquire invoke
47s client-3 acquire invoke
50s probe acquire ok
`

func TestMetricsAreTheOnesTheDocumentsWatch(t *testing.T) {
	m := Measure(fromLog(t, measured))
	for _, want := range []Metric{
		// client-1 waited for 10 s and for 0.5 s without getting the lock; client-3 has waited for 3 s so far
		{"lock_acquisition_time_p50", 3, "s", 5, -1},
		{"lock_acquisition_time_p99", 16, "s", 5, 5},
		{"lock_contention_rate", 0, "ratio", 0, 0.3}, // attempts are not counted in this history
		{"lock_hold_duration_p99", 9, "s", 2, 8},
		{"lock_timeout_rate", 0.25, "ratio", 4, 0.05},
		{"release_without_effect_rate", 0, "ratio", 0, 0}, // servers' records are missing in this history
		{"fencing_token_reject_rate", 0.5, "ratio", 2, 0},
		{"unavailability", 7, "s", 5, -1},      // from client-1's release at 10 s to 17 s
		{"wake_ups_per_release", 0, "", 0, -1}, // notices are not recorded in this history
		{"messages_per_acquire", 0, "", 0, -1}, // messages are not counted in this history
		{`lock_acquisition_time_p50{process="client-1"}`, 1, "s", 3, -1},
		{`lock_acquisition_time_p99{process="client-1"}`, 10, "s", 3, 5},
		{`lock_acquisition_time_p50{process="client-2"}`, 16, "s", 1, -1},
		{`lock_acquisition_time_p99{process="client-2"}`, 16, "s", 1, 5},
		{`lock_acquisition_time_p50{process="client-3"}`, 3, "s", 1, -1},
		{`lock_acquisition_time_p99{process="client-3"}`, 3, "s", 1, 5},
	} {
		if len(m) == 0 || m[0] != want {
			t.Fatalf("got %+v, want %+v", m[:min(1, len(m))], want)
		}
		if got, found := m.Of(want.Name); !found || got != want {
			t.Errorf("Of(%q) = %+v, %v", want.Name, got, found)
		}
		if (want.Alarm >= 0 && want.Samples > 0) != m[0].Alarming() && !strings.Contains(want.Name, "client-3") {
			t.Errorf("%+v: alarming is %v", want, m[0].Alarming())
		}
		m = m[1:]
	}
	if len(m) != 0 {
		t.Errorf("more than expected: %+v", m)
	}
}

// A client that polls repeatedly finds the lock taken, although each of its acquires eventually succeeds.
func TestContentionCountsAttemptsWhereTheHistoryDoes(t *testing.T) {
	h := fromLog(t, measured)
	h.Header.Attempts, h.Header.Taken = 10, 4
	m := Measure(h)
	contention, _ := m.Of("lock_contention_rate")
	if want := (Metric{"lock_contention_rate", 0.4, "ratio", 10, 0.3}); contention != want || !contention.Alarming() {
		t.Errorf("got %+v, want %+v", contention, want)
	}
	if timeouts, _ := m.Of("lock_timeout_rate"); timeouts.Value != 0.25 {
		t.Errorf("the rate of acquires that gave up: %+v", timeouts)
	}
}

// TestWakeUpsAreKnownWhereTheHistoryRecordsThem checks in which histories the number of wake-ups is known: in those
// that count attempts, and in those that record a notification. In them, a client without a recorded notification was
// not notified.
func TestWakeUpsAreKnownWhereTheHistoryRecordsThem(t *testing.T) {
	polls := fromLog(t, measured)
	polls.Header.Attempts = 10
	notified := fromLog(t, strings.Replace(measured, "12s client-1 acquire invoke",
		"11s client-2 woken\n11s client-2 woken\n12s client-1 acquire invoke", 1))
	for h, want := range map[*history.History]Metric{
		polls:    {"wake_ups_per_release", 0, "", 1, -1},
		notified: {"wake_ups_per_release", 2, "", 1, -1},
	} {
		if got, _ := Measure(h).Of(want.Name); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// client-1 has a lease of 10 s and releases it after one second. Its second release comes too late to count. The
// probe's release is not counted.
func TestReleasesWithoutEffectAreCountedUnderFaultsToo(t *testing.T) {
	const releases = `
header clients=client-1,client-2,probe servers=redis-1 quorum=1 bound=10s ttl=10s locks=orders end=90s
0s client-1 acquire invoke
0s redis-1 key-set of=client-1/1 until=10s
1ms client-1 acquire ok until=10s
1s client-1 release invoke
1s redis-1 key-gone of=client-1/1 by=client-1/1 why=deleted
1s client-1 release ok
2s client-2 acquire invoke
2s redis-1 key-set of=client-2/1 until=12s
2s client-2 acquire ok until=12s
3s fault client-2,redis-1: cut client-2 | redis-1 at 3s for 1s
3s client-2 release invoke
3.5s client-2 release fail
4s fault-ends client-2,redis-1: cut client-2 | redis-1 at 3s for 1s
12s redis-1 key-gone of=client-2/1 why=expired
13s client-1 acquire invoke
13s redis-1 key-set of=client-1/2 until=23s
13s client-1 acquire ok until=23s
23s redis-1 key-gone of=client-1/2 why=expired
24s client-1 release invoke
24s client-1 release ok
30s probe acquire invoke
30s redis-1 key-set of=probe/1 until=40s
30s probe acquire ok until=40s
31s probe release invoke
31s probe release ok
40s redis-1 key-gone of=probe/1 why=expired
`
	m := Measure(fromLog(t, releases))
	got, _ := m.Of("release_without_effect_rate")
	if want := (Metric{"release_without_effect_rate", 0.5, "ratio", 2, 0}); got != want || !got.Alarming() {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestARunWithoutOperationsAlarmsNobody(t *testing.T) {
	for _, m := range Measure(fromLog(t, "header ttl=1s locks=orders clients=client-1")) {
		if m.Alarming() || m.Value != 0 || m.Samples != 0 {
			t.Errorf("%+v", m)
		}
	}
}

func TestEvidenceCanBeDrawn(t *testing.T) {
	all, _ := Evidence(busy(t, 60), 1)
	if len(all) != 1 || all[0].Lock != "orders" || all[0].Mutex == nil || all[0].Data == nil {
		t.Fatalf("%+v", all)
	}
	var mutex, data bytes.Buffer
	if err := all[0].Mutex.WriteHTML(&mutex); err != nil {
		t.Error(err)
	}
	if err := all[0].Data.WriteHTML(&data); err != nil {
		t.Error(err)
	}
	if !strings.Contains(mutex.String(), "enter client-2/1") || !strings.Contains(data.String(), `write \"v1\"`) {
		t.Error("the drawings do not name sections and values")
	}
	if none, left := Evidence(fromLog(t, "header locks=orders"), 1); len(none)+left != 0 {
		t.Errorf("%+v, %d left", none, left)
	}
}

// TestTheEvidenceThatSaysMostIsDrawn checks which locks Evidence draws if there is no room for all of them. The lock
// named by the caller comes first, then a refuted lock, and then the other locks in order.
func TestTheEvidenceThatSaysMostIsDrawn(t *testing.T) {
	var text strings.Builder
	for i, lock := range []string{"a", "b", "c", "d", "e"} {
		text.WriteString(fmt.Sprintf("%ds client-1 acquire ok lock=%s\n", 10*i, lock))
		if lock == "d" {
			text.WriteString(fmt.Sprintf("%ds client-2 acquire ok lock=%s\n", 10*i+1, lock))
		}
		text.WriteString(fmt.Sprintf("%ds client-1 release invoke lock=%s\n", 10*i+2, lock))
	}
	h := fromLog(t, "header\n"+text.String())
	for most, want := range map[int]string{1: "c", 2: "c d", 3: "a c d", 9: "a b c d e"} {
		drawn, left := Evidence(h, most, "c")
		var locks []string
		for i := range drawn {
			locks = append(locks, string(drawn[i].Lock))
		}
		if got := strings.Join(locks, " "); got != want || left != 5-len(locks) {
			t.Errorf("of %d: %s, and %d left, want %s", most, got, left, want)
		}
	}
}

// TestMeasuredTogetherAsApart checks that CheckAndMeasure returns the same results as Check and Measure: judging a law
// must not change any metric.
func TestMeasuredTogetherAsApart(t *testing.T) {
	for round := range uint64(300) {
		g := newGossip(round, 11)
		g.anything(60)
		verdict, metrics := CheckAndMeasure(g.h)
		if want := Measure(g.h); !reflect.DeepEqual(metrics, want) {
			t.Fatalf("round %d: together %+v\napart %+v", round, metrics, want)
		}
		if want := Check(g.h); !reflect.DeepEqual(verdict, want) {
			t.Fatalf("round %d: together %+v\napart %+v", round, verdict, want)
		}
	}
}
