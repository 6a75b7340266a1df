package scenarios

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/sim"
)

func TestMixDefaults(t *testing.T) {
	s := parseText(t, "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 4s}\n")
	if !reflect.DeepEqual(s.Mix, draw.For(4*time.Second)) || s.Within != 0 ||
		!reflect.DeepEqual(s.Promise, checker.Promise{Laws: checker.Laws}) {
		t.Errorf("%+v", s)
	}
	for name, want := range map[string]draw.Span{"pause": s.Mix.Pause, "jump": s.Mix.Jump, "delay": s.Mix.Delay,
		"slow-fsync": s.Mix.Fsync, "outage": s.Mix.Outage, "downtime": s.Mix.Downtime} {
		row := regexp.MustCompile("`mix." + name + "` \\| range \\| ([^|]*) \\|").FindStringSubmatch(formatDoc(t))
		low, high, _ := strings.Cut(row[1], " to ")
		value := map[string]time.Duration{"TTL/1000": 4 * time.Millisecond, "TTL/100": 40 * time.Millisecond,
			"TTL/2": 2 * time.Second, "2 × TTL": 8 * time.Second, "3 × TTL": 12 * time.Second}
		if got := (draw.Span{Min: value[low], Max: value[high]}); got != want {
			t.Errorf("FORMAT.md says that mix.%s is %s; it is %v", name, row[1], want)
		}
	}
	broken := parseText(t, oneRedis+"expect: {mutual-exclusion: violated, ownership: holds, token-order: any}\n")
	want := []checker.Law{checker.LeaseExclusion, checker.ResourceSafety, checker.Ownership, checker.DeadlockFreedom,
		checker.FaultTolerance, checker.Fairness}
	if !reflect.DeepEqual(broken.Promise.Laws, want) {
		t.Errorf("promised %v", broken.Promise)
	}
}

func TestMixIsRead(t *testing.T) {
	s := parseText(t, oneRedis+`mix:
  faults: 2..3
  weights: {pause: 1, delay message: 7, shut down: 2}
  pause: 1ms..2s
  jump: 3s
  delay: 5ms..6ms
  slow-fsync: 7ms
  outage: 8ms..1m
  downtime: 9s..10s
  drift: 1000ppm
  forever: 0%
  at-points: 100%
  points: [acquired, before-write]
  passes: 1
  messages: 4
  swarm: off
  within: 20s
  without: [jump of servers, "crash losing everything, restart within 10s"]
promise: [token-order]
`)
	const ms, sec = time.Millisecond, time.Second
	want := draw.For(10 * sec)
	want.Fewest, want.Most, want.Weights, want.Swarm = 2, 3, draw.Weights{}, false
	want.Pause, want.Jump = draw.Span{Min: ms, Max: 2 * sec}, draw.Span{Min: 3 * sec, Max: 3 * sec}
	want.Delay, want.Fsync = draw.Span{Min: 5 * ms, Max: 6 * ms}, draw.Span{Min: 7 * ms, Max: 7 * ms}
	want.Outage, want.Downtime = draw.Span{Min: 8 * ms, Max: 60 * sec}, draw.Span{Min: 9 * sec, Max: 10 * sec}
	want.PPM, want.Forever, want.AtPoint, want.Passes, want.Messages = 1000, 0, 100, 1, 4
	want.Points = []sim.Point{sim.Acquired, sim.BeforeWrite}
	want.Without = []nemesis.Exclusion{{Kind: nemesis.Jump, Of: nemesis.AnyServer},
		{Kind: nemesis.Crash, Loss: nemesis.LosesEverything, Within: 10 * sec}}
	want.Weights[nemesis.Pause], want.Weights[nemesis.DelayMessage], want.Weights[nemesis.ShutDown] = 1, 7, 2
	if !reflect.DeepEqual(s.Mix, want) || s.Within != 20*sec ||
		!reflect.DeepEqual(s.Promise.Laws, []checker.Law{checker.TokenOrder}) {
		t.Errorf("got  %+v, within %v, promise %v\nwant %+v", s.Mix, s.Within, s.Promise, want)
	}
}

func TestPromiseIsRead(t *testing.T) {
	for text, want := range map[string]checker.Promise{
		"":                              {Laws: checker.Laws},
		"promise: [deadlock-freedom]\n": {Laws: []checker.Law{checker.DeadlockFreedom}},
		"promise: [availability, deadlock-freedom]\n": {Laws: []checker.Law{checker.DeadlockFreedom},
			Availability: true},
	} {
		if got := parseText(t, oneRedis+text).Promise; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"promise: [ownership, ownership]":       "ownership is promised twice",
		"promise: [availability, availability]": "availability is promised twice",
		"promise: [availability, ownership]": "promising availability requires promising deadlock-freedom: add " +
			"it to the list",
		"promise: [availabilty]": "availability",
	} {
		if _, err := Parse("f.yaml", []byte(oneRedis+text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestWhatNoLockCanHelpIsNoMismatch judges runs in which a client waits forever. If it waits because the quorum is lost
// permanently, no lock can help. This counts as a mismatch only if the file names the law or promises availability. If
// there still is a quorum, it always counts as a mismatch.
func TestWhatNoLockCanHelpIsNoMismatch(t *testing.T) {
	const two = "name: x\nservers: {redis: 1}\nnetwork: {delay: 1ms}\nlock: {protocol: set-nx-px, ttl: 1s}\n" +
		"limit: 30s\n"
	const gone = "faults: [shut down redis-1 at 0s]\n"
	const cutOff = "faults: [cut client-1 | redis-1 at 0s, crash client-2 at 100ms]\n"
	for _, x := range []struct {
		text string
		want document.Result
	}{
		{two + gone, document.Passed},
		{two + cutOff, document.Passed},
		{two + gone + "expect: {ownership: any}\n", document.Passed},
		{two + gone + "expect: {deadlock-freedom: holds}\n", document.Failed},
		{two + gone + "expect: {deadlock-freedom: violated by no quorum left}\n", document.Passed},
		{two + gone + "promise: [deadlock-freedom, availability]\n", document.Failed},
		{strings.Replace(two, "set-nx-px", "setnx", 1) + "clients: 3\nwork: {hold: 1s}\n" +
			"faults: [cut client-3 | redis-1 at 0s, crash client-1 after acquired]\n", document.Failed},
	} {
		s := parseText(t, x.text)
		r, err := NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		j := s.Judge(r)
		f := j.Verdict.Of(checker.DeadlockFreedom)
		if f.Outcome != checker.Violated || j.Standing() != x.want {
			t.Errorf("%s\nis %v, want %v: %s", x.text, j.Standing(), x.want, f.Explanation)
		}
	}
}
