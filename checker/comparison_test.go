package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// trespassing is a change that one client makes to another client's key. It says what is known about whether the
// request first compared the key's owner.
type trespassing struct {
	service history.Service
	did     string // the change, as written in a log
	checked string // what the request checked; empty if that is not recorded
	// whether the lock is known to compare the owner, and to use a different value for each attempt
	compares, owns string
}

// text returns a history in which client-1 changes client-2's key.
func (x *trespassing) text() string {
	measure := map[string]history.Measure{"key-prolonged": history.ExtendCheck}[x.did]
	if measure == "" {
		measure = history.OwnerCheck
	}
	lists := map[string][]string{"yes": {string(history.Expiry)}, "unknown": nil}
	lists[x.compares] = append(lists[x.compares], string(measure))
	lists[x.owns] = append(lists[x.owns], string(history.OwnValue))
	change := fmt.Sprintf("3s server-1 %s of=client-2/1 by=client-1/1", x.did)
	switch x.did {
	case "key-gone":
		change += " why=deleted"
	case "key-set":
		change = "3s server-1 key-set of=client-1/1 by=client-1/1 until=13s"
	default:
		change += " until=20s"
	}
	if x.checked != "" {
		change += " checked=" + x.checked
	}
	return fmt.Sprintf(`
header servers=server-1 quorum=1 ttl=10s service=%s measures=%s unknown=%s
0s client-1 acquire invoke
0s client-2 acquire invoke
1s server-1 key-set of=client-2/1 by=client-2/1 until=11s
1s client-2 acquire ok until=11s
%s
`, x.service, strings.Join(lists["yes"], ","), strings.Join(lists["unknown"], ","), change)
}

// knows says what is known about the request that changes the other client's key. compared is true if the request is
// known to have compared the key's owner, and not is true if it is known that it did not. If the request has a recorded
// check, that decides. Otherwise, the safety measures that the lock is known to apply decide. They concern the release
// or the extension, so nothing is known about a request that sets a key, except in Kubernetes.
func (x *trespassing) knows() (compared, not bool) {
	switch {
	case x.checked != "":
		return x.checked == "value", x.checked != "value"
	case x.did == "key-set" && x.service != history.Kubernetes:
		return false, false
	}
	return x.compares == "yes", x.compares == "no"
}

// TestComparedIsSaidOfWhatWasCompared checks explanations for every combination of facts that can be known about a
// request that changes another client's key. The explanation must say that the key's owner was not compared if and only
// if this is known. It may say that the owner was compared only if that is known.
func TestComparedIsSaidOfWhatWasCompared(t *testing.T) {
	known := []string{"yes", "no", "unknown"}
	saidNot, said := 0, 0
	for _, service := range []history.Service{history.Redis, history.Redlock, history.Etcd, history.ZooKeeper,
		history.Kubernetes} {
		for _, did := range []string{"key-gone", "key-set", "key-prolonged"} {
			for _, checked := range []string{"", "nothing", "presence", "value"} {
				for i := range len(known) * len(known) {
					x := &trespassing{service, did, checked, known[i/len(known)], known[i%len(known)]}
					h := fromLog(t, x.text())
					f := Check(h).Of(Ownership)
					if f.Outcome != Violated {
						t.Fatalf("%+v: %v\n%s", x, f.Outcome, x.text())
					}
					isNot, is := x.check(t, f.Explanation)
					saidNot, said = saidNot+isNot, said+is
				}
			}
		}
	}
	if saidNot < 200 || said < 50 {
		t.Errorf("%d stories say that the owner was not compared, and %d that it was", saidNot, said)
	}
}

// check compares an explanation with what is known. saidNot is 1 if the explanation says that the owner was not
// compared, and said is 1 if it says that the owner was compared.
func (x *trespassing) check(t *testing.T, story string) (saidNot, said int) {
	t.Helper()
	compared, not := x.knows()
	saysNot := strings.Contains(story, "did not check") || strings.Contains(story, "even if it already existed") ||
		strings.Contains(story, "but not whose it was")
	says := strings.Contains(story, "compared") || strings.Contains(story, "read the value of the key")
	switch {
	case saysNot != not:
		t.Errorf("%+v: says that the owner was not compared: %v; it was not: %v\n%s", x, saysNot, not, story)
	case says && !compared:
		t.Errorf("%+v: says that the owner was compared\n%s", x, story)
	case says && x.compares == "yes" && x.owns != "no" && strings.Contains(story, "share"):
		t.Errorf("%+v: says that owners share something\n%s", x, story)
	}
	if saysNot {
		saidNot++
	}
	if says {
		said++
	}
	return saidNot, said
}
