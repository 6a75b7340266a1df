package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/slow"
)

// leftKey is a small history in which an attempt leaves a key behind and client-1 waits for the lock for a minute.
type leftKey struct {
	service history.Service
	owner   string // what happened to the attempt that set the key
	expiry  string // expiry of the key
	renewed string // until when the key was extended
	asked   string // when client-1, and other waiting clients, last asked
}

var leftKeys = struct{ owners, expiries, renewed, asked []string }{
	[]string{"own, waits", "own, waits with a later key", "own, failed", "other, waits", "other, failed", "other, left",
		"other, crashed"},
	[]string{"never", "due", "far"},
	[]string{"no", "at first", "once", "to the end"},
	[]string{"unknown", "at first", "to the end"},
}

// text returns the history's log.
func (k *leftKey) text() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("header servers=redis-1 quorum=1 ttl=10s hold=1s slack=1s service=redis end=60s")
	who, server := "client-2", "redis-1"
	if strings.HasPrefix(k.owner, "own") {
		who = "client-1"
	}
	if k.service == history.ZooKeeper {
		b.Reset()
		say("header servers=z-1,z-2,z-3 shards=z-1+z-2+z-3 quorum=2 ttl=10s hold=1s slack=1s service=zookeeper end=60s")
		server = "z-1"
	}
	until := map[string]string{"never": "", "due": "until=11s", "far": "until=100s"}[k.expiry]
	say("0s %s acquire invoke", who)
	say("1s %s key-set of=%s/1 member=a %s", server, who, until)
	if k.renewed == "at first" {
		say("1s %s key-prolonged of=%s/1 member=a until=100s", server, who)
	}
	switch k.owner {
	case "own, failed", "other, failed":
		say("2s %s acquire fail", who)
	case "other, left":
		say("1s client-2 acquire ok until=11s\n2s client-2 release invoke\n2s client-2 release ok")
	case "other, crashed":
		say("2s client-2 crashed")
	case "own, waits with a later key":
		say("2s %s key-set of=%s/1 member=b %s", server, who, until)
	}
	if k.owner != "own, waits" && k.owner != "own, waits with a later key" {
		say("3s client-1 acquire invoke")
	}
	last := map[string]int{"once": 5, "to the end": 55}[k.renewed]
	for at := 5; at <= last; at += 5 {
		say("%ds %s key-prolonged of=%s/1 member=a until=%ds", at, server, who, at+10)
	}
	if due := max(11, last+10); k.expires() && due < 60 {
		say("%ds %s key-gone of=%s/1 member=a why=expired", due, server, who)
	}
	return b.String()
}

// expires reports whether the key expires before the history's end, if it is not extended any more. A key that belongs
// to a session does not.
func (k *leftKey) expires() bool {
	return k.service == history.Redis && k.renewed != "at first" && (k.expiry == "due" || k.renewed != "no")
}

// stays reports whether the key still exists when a client has waited too long: at 12 s or, if another client has held
// the lock before, at 15 s.
func (k *leftKey) stays() bool {
	over := 12
	if strings.HasPrefix(k.owner, "other") && k.owner != "other, waits" {
		over = 15
	}
	gone := map[string]int{"no": 11, "once": 15, "to the end": 65}[k.renewed]
	return !k.expires() || over < gone
}

func (k *leftKey) want() Cause {
	waits := strings.Contains(k.owner, "waits")
	switch {
	case !k.stays():
		return Cause{Kind: StuckWithoutHolder}
	case k.owner == "other, crashed":
		return Cause{Kind: StuckBehindCrashed}
	case k.service == history.ZooKeeper && k.expiry == "never" && k.renewed == "no" && !waits:
		return Cause{Kind: StuckBehindAbandoned} // the key belongs to no session
	case k.service == history.ZooKeeper && waits && k.owner != "own, waits with a later key" && k.asked != "to the end":
		return Cause{StuckBehindAbandoned, TurnNotTaken}
	case k.service == history.ZooKeeper:
		return Cause{StuckBehindAbandoned, SessionLives}
	case waits && k.renewed != "no", k.renewed == "once", k.renewed == "to the end":
		return Cause{StuckBehindAbandoned, KeptProlonged}
	}
	return Cause{Kind: StuckBehindAbandoned}
}

// TestAKeyThatNobodyWillReleaseIsNamed tries all combinations of a leftKey. The finding must name the client that the
// key belongs to, and its remedy must not contain advice that does not help.
func TestAKeyThatNobodyWillReleaseIsNamed(t *testing.T) {
	var checker Checker
	n := 0
	for _, service := range []history.Service{history.Redis, history.ZooKeeper} {
		for _, owner := range leftKeys.owners {
			for _, expiry := range leftKeys.expiries {
				for _, renewed := range leftKeys.renewed {
					for _, asked := range leftKeys.asked {
						if service == history.Redis && strings.HasSuffix(owner, "later key") {
							continue
						}
						n++
						k := &leftKey{service, owner, expiry, renewed, asked}
						h := fromLog(t, k.text())
						if asked != "unknown" {
							at := map[string]history.Time{"at first": 1e9, "to the end": 59e9}[asked]
							h.Header.Asked = map[history.Process]history.Time{"client-1": at, "client-2": at}
						}
						k.check(t, h, checker.CheckOnly(h, []Law{DeadlockFreedom}).Findings[0])
					}
				}
			}
		}
	}
	if want := (6 + 7) * 3 * 4 * 3; n != want {
		t.Errorf("%d histories, want %d", n, want)
	}
}

func (k *leftKey) check(t *testing.T, h *history.History, f Finding) {
	t.Helper()
	consistent(t, fmt.Sprint(k), f)
	want := k.want()
	if f.Outcome != Violated || f.Cause != want {
		t.Errorf("%+v: %v by %v, want %v\n%s\n%s", k, f.Outcome, f.Cause, want, f.Explanation, k.text())
		return
	}
	literal := slow.Of(h, string(DeadlockFreedom))
	if len(literal.Breaches) == 0 || literal.Breaches[0].Cause != want.String() {
		t.Errorf("%+v: by %v; the law read literally %+v\n%s", k, want, literal, k.text())
	}
	owner := history.Process("client-2")
	if strings.HasPrefix(k.owner, "own") {
		owner = "client-1"
	}
	never := []string{"Retry after a random delay", "No living process"}
	switch {
	case want.Kind == StuckWithoutHolder:
		owner, never = "", []string{"still there", "key of"}
	case want.Kind == StuckBehindCrashed:
		never = append(never, "gave up")
	case k.expiry != "never" || k.renewed != "no" || want.Detail != "":
		never = append(never, "Give every lock an expiry")
	}
	if k.owner == "other, left" {
		never = append(never, "When an attempt times out")
	} else {
		never = append(never, stopRenewing)
	}
	_, why, _ := strings.Cut(f.Explanation, "+ hold + slack).")
	if !strings.Contains(strings.ToLower(why), string(owner)) {
		t.Errorf("%+v: %s is not named: %s", k, owner, why)
	}
	for _, words := range never {
		if strings.Contains(f.Explanation+f.Remedy, words) {
			t.Errorf("%+v: %q is said: %s %s", k, words, f.Explanation, f.Remedy)
		}
	}
	if f.About != owner {
		t.Errorf("%+v: it is about %q, want %q", k, f.About, owner)
	}
}

// A Kubernetes record remains after its lease has ended, and any client may take it. A client that is still waiting is
// measuring the lease by the wrong clock, so no remedy may advise the former holder to delete the record.
func TestARecordWhoseLeaseIsOverIsNotWhatOthersWaitBehind(t *testing.T) {
	for _, c := range []struct {
		until  string
		want   Cause
		remedy string
	}{
		{"15s", Cause{Kind: StuckWithoutHolder}, seenByKubernetes},
		{"59s", Cause{Kind: StuckBehindAbandoned},
			"Let a key expire after the TTL that its users expect, and no later."},
	} {
		h := fromLog(t, `
header servers=kubernetes-1 quorum=1 ttl=10s hold=1s slack=1s service=kubernetes end=60s
0s client-1 acquire invoke
1s kubernetes-1 key-set of=client-1/1 member=a until=11s
1s client-1 acquire ok until=11s
5s kubernetes-1 key-prolonged of=client-1/1 member=a until=`+c.until+`
6s client-1 release invoke
6s client-1 release ok
7s client-2 acquire invoke
`)
		var checker Checker
		f := checker.CheckOnly(h, []Law{DeadlockFreedom}).Findings[0]
		if f.Cause != c.want {
			t.Errorf("until %s: %v, not %v: %s", c.until, f.Cause, c.want, f.Explanation)
		}
		if literal := slow.Of(h, string(DeadlockFreedom)); literal.Breaches[0].Cause != c.want.String() {
			t.Errorf("until %s: the law read literally: %+v", c.until, literal)
		}
		if f.Remedy != c.remedy {
			t.Errorf("until %s: remedy: %s", c.until, f.Remedy)
		}
	}
}
