package claims

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestFaultsThatAStoryNamesAreNecessary runs each story's plan again without the faults named in the story's
// explanation. It counts two kinds of mistakes, as defined by Necessity: named faults that are unnecessary, and stories
// in which a fault is missing. At most one named fault in a hundred may be unnecessary, and at most one story in a
// hundred may lack a fault. With FENCEPOST_FULL=1, the test continues until a thousand faults have been tried.
func TestFaultsThatAStoryNamesAreNecessary(t *testing.T) {
	enough, rounds, each := testkit.Size(20, 60, 1000), testkit.Size(10, 10, 500), testkit.Size(1, 1, 2)
	wrongs := NewWrongs(t)
	n := NewNecessity(t, wrongs)
	Stories(t, rounds, each, func(s *Story) bool {
		n.Story(s)
		return n.Named < enough
	})
	vain, missing := wrongs.Count("in vain"), wrongs.Count("missing")
	t.Logf("%d stories; of %d faults named %d in vain; in %d stories one is missing", n.Stories, n.Named, vain, missing)
	if n.Named < enough {
		t.Errorf("only %d faults were named", n.Named)
	}
	if 100*vain > n.Named || 100*missing > n.Stories {
		t.Errorf("of %d faults %d are named in vain, and in %d of %d stories one is missing", n.Named, vain, missing,
			n.Stories)
	}
	if other := wrongs.Count("") - vain - missing; other > 0 {
		t.Errorf("%d stories contradict their findings or their plans", other)
	}
}

// TestTheSentenceAboutANeededFaultIsRecognized checks that Necessity recognizes the sentence in which the checker names
// a fault only because a trial has found it necessary.
func TestTheSentenceAboutANeededFaultIsRecognized(t *testing.T) {
	const fault = "pause client-3 for 1s at 1s"
	h := &history.History{}
	for _, e := range []history.Event{
		{Process: history.Nemesis, Type: history.Invoke, F: history.Pause, Value: fault,
			Fault: &history.Fault{On: []history.Process{"client-3"}}},
		{Process: "client-1", Type: history.Invoke, F: history.Acquire, Lock: "orders"},
		{Process: "client-1", Type: history.OK, F: history.Acquire, Lock: "orders"},
		{Process: "client-2", Type: history.Invoke, F: history.Acquire, Lock: "orders"},
		{Process: "client-2", Type: history.OK, F: history.Acquire, Lock: "orders"},
	} {
		e.Index, e.Time = len(h.Events), history.Time(len(h.Events))
		h.Events = append(h.Events, e)
	}
	var c checker.Checker
	f := c.Check(h).Of(checker.MutualExclusion)
	f = c.CheckKnowing(h, &f, checker.Known{Needed: []int{0}})
	if m := aloneSentence.FindStringSubmatch(f.Explanation); m == nil || m[1] != fault {
		t.Errorf("%q in %q", m, f.Explanation)
	}
}
