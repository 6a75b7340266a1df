package checker

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Metric is a number that describes one aspect of a run.
type Metric struct {
	Name    string // name, as in the documentation; for a single process, {process="client-1"} is appended
	Value   float64
	Unit    string  // "s", "ratio" in [0, 1], or empty for a count
	Samples int     // number of observations; if it is 0, Value is 0 too
	Alarm   float64 // value above which the documentation advises investigating; -1 if there is none
}

// Alarming reports whether the value is above its alarm level.
func (m Metric) Alarming() bool { return m.Alarm >= 0 && m.Samples > 0 && m.Value > m.Alarm }

// Metrics is a list in a fixed order: first the metrics of the run, then those of individual processes in header order.
type Metrics []Metric

// Of returns the metric with the given name.
func (ms Metrics) Of(name string) (Metric, bool) {
	for _, m := range ms {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// Measure computes the five metrics that the documentation recommends monitoring, with their alarm levels, and some
// others. It ignores the operations of the probe (history.Probe), the client that requests each lock at the end of a
// run.
//
//   - lock_acquisition_time_p50, _p99: time from the call to acquire until it returns ok, in s. An acquire that failed,
//     or had not returned when the run ended, counts with the time that it had been waiting until then. An acquire
//     whose client crashed does not count. For _p99, alarm above 50% of the TTL.
//   - lock_contention_rate: share of attempts that found the lock held by another client. An acquire that tries again
//     makes several attempts. Unknown if the history does not count attempts. Alarm above 30%.
//   - lock_hold_duration_p99: length of critical sections, in s. Alarm above 80% of the TTL.
//   - lock_timeout_rate: share of returned acquires in which the client gave up waiting. Alarm above 5%.
//   - release_without_effect_rate: share of releases that left their client's keys in place, with or without faults. It
//     counts only releases whose effect the servers' records show (see trace.Handback). Alarm above 0.
//   - fencing_token_reject_rate: share of reads and writes that were refused because of a stale token. Alarm above 0.
//   - wake_ups_per_release: number of waiting clients that were notified, per effective release. Unknown if the history
//     neither counts attempts nor records notices.
//   - messages_per_acquire: number of requests that clients sent to lock servers, per successful acquire.
//   - unavailability: the longest time, in s, during which a client was waiting for a lock, but no live client held or
//     acquired it.
func Measure(h *history.History) Metrics {
	var t judge
	t.Read(h)
	t.Windows()
	return t.measure()
}

// measure computes the metrics of the last history that was read.
func (t *judge) measure() Metrics {
	h := t.History
	var m measures
	for i := range t.Asks {
		m.ask(t, &t.Asks[i])
	}
	for i := range t.Grants {
		if g := &t.Grants[i]; g.Ending != trace.StillOpen && g.Process != history.Probe {
			m.held = append(m.held, seconds(t.Time(g.End)-t.Time(g.OK)))
		}
	}
	for _, at := range t.Data {
		e := &h.Events[at]
		if e.F != history.Apply {
			continue
		}
		if m.applied++; e.Type == history.Fail && e.Why == history.StaleToken {
			m.stale++
		}
	}
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Process == history.Probe:
		case e.F == history.Woken:
			m.woken++
		case e.F == history.Release && e.Type == history.OK:
			m.released++
		}
	}
	slices.Sort(m.waits)
	slices.Sort(m.held)
	ttl := seconds(h.Header.TTL)
	out := Metrics{
		percentile("lock_acquisition_time_p50", m.waits, 50, -1),
		percentile("lock_acquisition_time_p99", m.waits, 99, share(ttl, 0.5)),
		rate("lock_contention_rate", h.Header.Taken, h.Header.Attempts, 0.3),
		percentile("lock_hold_duration_p99", m.held, 99, share(ttl, 0.8)),
		rate("lock_timeout_rate", m.timedOut, m.returned, 0.05),
		t.unreleasedRate(),
		rate("fencing_token_reject_rate", m.stale, m.applied, 0),
		t.unavailability(),
		average("wake_ups_per_release", m.woken, m.notifying(h)),
		average("messages_per_acquire", h.Header.Messages, m.counted(h)),
	}
	return append(out, m.byProcess(h)...)
}

// measures collects the observations from which the metrics are computed.
type measures struct {
	waits           []float64
	served          int
	of              map[history.Process][]float64
	seen            []history.Process // processes in order of their first acquire
	held            []float64
	returned        int
	timedOut        int
	applied, stale  int
	woken, released int
}

func (m *measures) ask(t *judge, a *trace.Ask) {
	// ignore an acquire whose client crashed: it no longer wants the lock
	crashed := a.Outcome == 0 && a.Ret != trace.Open
	if a.Process == history.Probe || crashed {
		return
	}
	m.wait(a.Process, seconds(t.Time(a.Ret)-t.Time(a.Call)))
	if a.Outcome == 0 {
		return
	}
	m.returned++
	switch a.Outcome {
	case history.OK:
		m.served++
	case history.Fail:
		if t.History.Events[a.Ret].Why == history.AcquireTimeout {
			m.timedOut++
		}
	}
}

func (m *measures) wait(p history.Process, waited float64) {
	if m.of == nil {
		m.of = make(map[history.Process][]float64)
	}
	if m.of[p] == nil {
		m.seen = append(m.seen, p)
	}
	m.waits = append(m.waits, waited)
	m.of[p] = append(m.of[p], waited)
}

func (m *measures) byProcess(h *history.History) Metrics {
	order := slices.Clone(h.Header.Clients)
	// a map, because a history may have 100,000 processes
	listed := make(map[history.Process]bool, len(order)+len(m.seen))
	for _, p := range order {
		listed[p] = true
	}
	for _, p := range m.seen {
		if !listed[p] {
			listed[p] = true
			order = append(order, p)
		}
	}
	var out Metrics
	for _, p := range order {
		slices.Sort(m.of[p])
		label := `{process="` + string(p) + `"}`
		out = append(out, percentile("lock_acquisition_time_p50"+label, m.of[p], 50, -1),
			percentile("lock_acquisition_time_p99"+label, m.of[p], 99, share(seconds(h.Header.TTL), 0.5)))
	}
	return out
}

// unavailability finds the longest time for which a lock was wanted but not held. A crashed holder does not count as a
// holder.
func (t *judge) unavailability() Metric {
	m := Metric{Name: "unavailability", Unit: "s", Alarm: -1}
	waiting, holding := make([]int, len(t.Locks)), make([]int, len(t.Locks))
	// the time at which each lock became unavailable, or trace.Long if it is available
	since := make([]history.Time, len(t.Locks))
	for i := range since {
		since[i] = trace.Long
	}
	note := func(l int32, now history.Time, acquired bool) {
		if (acquired || waiting[l] == 0 || holding[l] > 0) && since[l] != trace.Long {
			m.Value, m.Samples = max(m.Value, seconds(now-since[l])), m.Samples+1
			since[l] = trace.Long
		}
		if waiting[l] > 0 && holding[l] == 0 && since[l] == trace.Long {
			since[l] = now
		}
	}
	for _, u := range t.Turns(t.SingleWaits()) {
		var l int32
		switch u.Kind {
		case trace.FaultStrikes, trace.FaultIsOver:
			continue
		case trace.WaitBegins, trace.WaitEnds:
			if l = t.Asks[u.N].Lock; t.Asks[u.N].Process == history.Probe {
				continue
			}
			waiting[l] += map[bool]int{true: 1, false: -1}[u.Kind == trace.WaitBegins]
		case trace.HoldBegins, trace.HoldEnds:
			l = t.Grants[u.N].Lock
			holding[l] += map[bool]int{true: 1, false: -1}[u.Kind == trace.HoldBegins]
		}
		note(l, t.Time(u.At), u.Kind == trace.HoldBegins)
	}
	for l := range since {
		waiting[l] = 0
		note(int32(l), t.End, false)
	}
	return m
}

// unreleasedRate computes the share of releases that had no effect.
func (t *judge) unreleasedRate() Metric {
	without, all := 0, 0
	for _, r := range t.Handbacks() {
		if t.Grants[r.Grant].Process == history.Probe {
			continue
		}
		if all++; len(r.Left) > 0 {
			without++
		}
	}
	return rate("release_without_effect_rate", without, all, 0)
}

func seconds(d history.Time) float64 { return float64(d) / 1e9 }

// share returns the given share of the TTL as an alarm level, or -1 if the TTL is unknown.
func share(ttl, part float64) float64 {
	if ttl <= 0 {
		return -1
	}
	return ttl * part
}

// NearestRank returns the p-th percentile: the smallest observation such that at least p percent of all observations
// are less than or equal to it. It returns zero if there are no observations.
func NearestRank[T cmp.Ordered](seen []T, p int) (of T) {
	if len(seen) == 0 {
		return of
	}
	sorted := seen
	if !slices.IsSorted(seen) {
		sorted = slices.Sorted(slices.Values(seen))
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

func percentile(name string, seen []float64, p int, alarm float64) Metric {
	return Metric{Name: name, Unit: "s", Value: NearestRank(seen, p), Samples: len(seen), Alarm: alarm}
}

// counted returns the number of acquires whose messages the history counts, or 0 if it does not count messages.
func (m *measures) counted(h *history.History) int {
	if h.Header.Messages == 0 {
		return 0
	}
	return m.served
}

// notifying returns the number of releases for which the history records who was notified. It returns 0 if the history
// does not record notices.
func (m *measures) notifying(h *history.History) int {
	if h.Header.Attempts == 0 && m.woken == 0 {
		return 0
	}
	return m.released
}

// average returns the quotient counted/times as a metric.
func average(name string, counted, times int) Metric {
	m := Metric{Name: name, Samples: times, Alarm: -1}
	if times > 0 {
		m.Value = float64(counted) / float64(times)
	}
	return m
}

func rate(name string, part, all int, alarm float64) Metric {
	m := Metric{Name: name, Unit: "ratio", Samples: all, Alarm: alarm}
	if all > 0 {
		m.Value = float64(part) / float64(all)
	}
	return m
}
