package features

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// smallest maps each feature to a minimal history that has it. If any line is removed, the history no longer has the
// feature.
var smallest = map[Feature]string{
	tryLost:            "r1 sets c1/1; c1 acquire fail",
	keyTakenBack:       "r1 sets c1/1; r1 removes c1/1",
	keyLeftBehind:      "r1 sets c1/1; c1 acquire fail; r1 expires c1/1",
	setTooLate:         "r1 sets c1/1; c1 acquire fail; r2 sets c1/1",
	setAfterRelease:    "c1 gets c1/1; c1 releases c1/1; r1 sets c1/1",
	setAgain:           "r1 sets c1/1; r1 sets c1/1",
	keyOverwritten:     "r1 sets c1/1; r1 sets c2/1",
	setBesideAnother:   "r1 sets c1/1; r2 sets c2/1",
	keyGoneBeforeGrant: "r1 sets c1/1; r1 expires c1/1",
	acquireFailed:      "c1 acquire fail",
	acquireUnanswered:  "c1 acquire info",

	grantedBesideKey:      "r1 sets c1/1; c2 gets c2/1",
	grantedDuringValidity: "c1 gets c1/1 until 9s; c2 gets c2/1 until 9s",
	grantedDuringSection:  "c1 gets c1/1; c2 gets c2/1",

	grantedSecondAfterSection:       "c1 gets c1/1; c1 releases c1/1; @900ms c2 gets c2/1",
	grantedTenthAfterSection:        "c1 gets c1/1; c1 releases c1/1; @90ms c2 gets c2/1",
	grantedHundredthAfterSection:    "c1 gets c1/1; c1 releases c1/1; @9ms c2 gets c2/1",
	grantedMillisecondAfterSection:  "c1 gets c1/1; c1 releases c1/1; c2 gets c2/1",
	grantedSecondAfterValidity:      "c1 gets c1/1 until 2ms; @900ms c2 gets c2/1 until 2s",
	grantedTenthAfterValidity:       "c1 gets c1/1 until 2ms; @90ms c2 gets c2/1 until 2s",
	grantedHundredthAfterValidity:   "c1 gets c1/1 until 2ms; @9ms c2 gets c2/1 until 2s",
	grantedMillisecondAfterValidity: "c1 gets c1/1 until 2ms; c2 gets c2/1 until 2s",
	expiredSecondAfterValidity:      "r1 sets c1/1; c1 gets c1/1 until 2ms; @900ms r1 expires c1/1",
	expiredTenthAfterValidity:       "r1 sets c1/1; c1 gets c1/1 until 2ms; @90ms r1 expires c1/1",
	expiredHundredthAfterValidity:   "r1 sets c1/1; c1 gets c1/1 until 2ms; @9ms r1 expires c1/1",
	expiredMillisecondAfterValidity: "r1 sets c1/1; c1 gets c1/1 until 2ms; r1 expires c1/1",
	expiredWithinValidity:           "r1 sets c1/1; c1 gets c1/1 until 2s; r1 expires c1/1",

	grantedWithoutKey: "r1 sets c1/1; r1 expires c1/1; c1 gets c1/1",
	grantedTooLate:    "c1 gets c1/1 until 1us",
	grantedSlowly:     "@3s c1 gets c1/1 until 9s",
	tokenRepeated:     "c1 gets c1/1 token; c2 gets c2/1 token",
	tokenLower:        "c1 gets c1/1 token; c2 gets c2/1 lower",
	freeThoughAsked:   "r1 sets c1/1; r1 expires c1/1; c2 asks; @5s r1 sets c2/1",
	wokenInVain:       "r1 sets c1/1; c2 woken info",
	wokenToFree:       "c2 woken info",

	heldKeyExpired:         "r1 sets c1/1; c1 gets c1/1; r1 expires c1/1",
	heldKeyRemoved:         "r1 sets c1/1; c1 gets c1/1; r1 removes c1/1 by c2/1",
	heldKeyRemovedByItself: "r1 sets c1/1; c1 gets c1/1; r1 removes c1/1",
	heldKeyLost:            "r1 sets c1/1; c1 gets c1/1; r1 loses c1/1",
	heldKeyFailedOver:      "r1 sets c1/1; c1 gets c1/1; r1 fails-over c1/1",
	secondKeyGone:          "r1 sets c1/1; r2 sets c1/1; c1 gets c1/1; r1 expires c1/1; r2 expires c1/1",
	thirdKeyGone: "r1 sets c1/1; r2 sets c1/1; r3 sets c1/1; c1 gets c1/1; r1 expires c1/1; " +
		"r2 expires c1/1; r3 expires c1/1",
	extended:                 "c1 extends c1/1",
	extendedWithoutKey:       "r1 sets c1/1; r1 expires c1/1; c1 extends c1/1",
	extendedTooLate:          "c1 gets c1/1 until 1ms; @2s c1 extends c1/1",
	extendedDuringSection:    "c1 gets c1/1; c2 gets c2/1; c1 extends c1/1",
	extendFailed:             "c1 extend fail",
	extendUnanswered:         "c1 extend info",
	keyShortened:             "r1 sets c1/1; r1 prolongs c1/1 until 1s",
	keyProlongedByAnother:    "r1 sets c1/1; r1 prolongs c1/1 by c2/1",
	keyProlongedAfterRelease: "c1 gets c1/1; r1 sets c1/1; c1 releases c1/1; r1 prolongs c1/1",
	keyOfLostTryProlonged:    "r1 sets c1/1; c1 acquire fail; r1 prolongs c1/1",
	lossNoticed:              "r1 sets c1/1; c1 gets c1/1; r1 expires c1/1; c1 lost info c1/1",
	lossNoticedWrongly:       "c1 gets c1/1; c1 lost info c1/1",
	accessRefused:            "resource refuses c1/1",
	accessAfterSection:       "resource accepts c1/1",
	accessDuringSection:      "c1 gets c1/1; resource accepts c2/1",

	releasedAfterValidity: "c1 gets c1/1 until 1ms; @2s c1 releases c1/1",
	releasedWithoutKey:    "r1 sets c1/1; c1 gets c1/1; r1 expires c1/1; c1 releases c1/1",
	releasedDuringSection: "c1 gets c1/1; c2 gets c2/1; c1 releases c1/1",
	releaseFailed:         "c1 release fail",
	releaseUnanswered:     "c1 release info",
	removedAfterReturn:    "r1 sets c1/1; c1 release ok c1/1; r1 removes c1/1",
	removedByOlder:        "r1 sets c1/2; r1 removes c1/2 by c1/1",
	removedByAnother:      "r1 sets c1/2; r1 removes c1/2 by c2/1",
	removedDuringSection:  "c1 gets c1/1; r1 sets c1/1; c1 releases c1/1; c2 gets c2/1; r1 removes c1/1",
	releasedKeyExpired:    "r1 sets c1/1; c1 release ok c1/1; r1 expires c1/1",
	crashedInside:         "c1 gets c1/1; c1 crashed info",
	crashedAsking:         "r1 sets c1/1; c1 crashed info",
	crashedReleasing:      "c1 gets c1/1; c1 releases c1/1; c1 crashed info",

	takenOverHeld:  "c1 gets c1/1; nemesis fail-over invoke",
	takenOverAsked: "c1 asks; nemesis fail-over invoke",
	copiedTooLate:  "r2 copies c1/1",
}

// parsed parses lines such as "@3s c1 gets c1/1 until 9s" into a history. An event without a time happens one
// millisecond after the event before it.
func parsed(t *testing.T, lines []string) *history.History {
	t.Helper()
	h := &history.History{Header: history.Header{Locks: []history.Lock{"lock"}, TTL: history.Of(10 * time.Second)}}
	now := history.Time(0)
	for _, line := range lines {
		words := strings.Fields(line)
		now += history.Of(time.Millisecond)
		if after, is := strings.CutPrefix(words[0], "@"); is {
			now, words = duration(t, after), words[1:]
		}
		e := history.Event{Index: len(h.Events), Time: now, Process: history.Process(words[0]), Lock: "lock",
			Type: history.OK}
		var rest []string
		if len(words) > 2 {
			rest = words[3:]
			e.Of = history.Attempt(words[2])
		}
		until := history.Time(0)
		for i, w := range rest {
			switch w {
			case "until":
				until = duration(t, rest[i+1])
			case "by":
				e.By = history.Attempt(rest[i+1])
			case "token":
				e.Token = 7
			case "lower":
				e.Token = 3
			}
		}
		types := map[string]history.Type{"invoke": history.Invoke, "fail": history.Fail, "info": history.Info,
			"ok": history.OK}
		switch verb := words[1]; verb {
		case "asks":
			e.F, e.Type = history.Acquire, history.Invoke
		case "gets":
			e.F, e.Attempt, e.Of = history.Acquire, e.Of, ""
			if until > 0 {
				e.Grant = &history.Grant{Granted: now, Until: until}
			}
		case "extends":
			e.F, e.Attempt, e.Of = history.Extend, e.Of, ""
		case "releases":
			e.F, e.Type, e.Attempt, e.Of = history.Release, history.Invoke, e.Of, ""
		case "sets":
			e.F, e.Until = history.KeySet, history.Of(10*time.Second)
		case "copies":
			e.F = history.KeyCopied
		case "prolongs":
			e.F, e.Until = history.KeyProlonged, max(until, 0)
			if until == 0 {
				e.Until = history.Of(20 * time.Second)
			}
		case "removes", "expires", "loses", "fails-over":
			e.F, e.Why = history.KeyGone, map[string]history.Why{"removes": history.Deleted, "expires": history.Expired,
				"loses": history.LostUnsynced, "fails-over": history.LostInFailover}[verb]
			if e.Why == history.Deleted && e.By == "" {
				e.By = e.Of
			}
		case "accepts", "refuses":
			e.F = history.Apply
			if verb == "refuses" {
				e.Type = history.Fail
			}
		default: // such as "c1 acquire fail c1/1"
			e.F, e.Type, e.Of = history.F(strings.ReplaceAll(verb, "-", " ")), types[words[2]], ""
			if len(rest) > 0 {
				e.Attempt = history.Attempt(rest[0])
			}
		}
		if e.Type == 0 {
			t.Fatalf("%q has no type of event", line)
		}
		h.Events = append(h.Events, e)
	}
	return h
}

func duration(t *testing.T, text string) history.Time {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return history.Of(d)
}

func TestEachEventHasASmallestHistory(t *testing.T) {
	var r Reader
	for e := range Feature(Things) {
		text, known := smallest[e]
		if !known || words[e] == "" {
			t.Errorf("%d, %q: no smallest history, or no words", e, words[e])
			continue
		}
		lines := strings.Split(text, "; ")
		if !slices.Contains(r.Read(parsed(t, lines)), e) {
			t.Errorf("%q does not happen in: %s", words[e], text)
		}
		for i := range lines {
			left := slices.Delete(slices.Clone(lines), i, i+1)
			if slices.Contains(r.Read(parsed(t, left)), e) {
				t.Errorf("%q also happens without %q in: %s", words[e], lines[i], text)
			}
		}
	}
}

// TestWhatIsNoFeature checks that two things never cause a feature: the probe (the client that acquires each lock at
// the end of a run), and keys that do not belong to a lock.
func TestWhatIsNoFeature(t *testing.T) {
	var r Reader
	h := parsed(t, []string{"r1 sets c1/1", "c1 acquire fail", "c2 acquire fail"})
	h.Events[0].Lock, h.Events[1].Lock = "lock:token", "other"
	h.Events[2].Process = history.Probe
	if got := r.Read(h); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestAnotherMemberTakesOver checks that the records of a replicated service such as etcd show when another member
// becomes the leader.
func TestAnotherMemberTakesOver(t *testing.T) {
	var r Reader
	h := parsed(t, []string{"r1 sets c1/1", "c1 gets c1/1", "r2 prolongs c1/1"})
	if slices.Contains(r.Read(h), takenOverHeld) {
		t.Error("a server alone is taken for a member")
	}
	h.Header.Groups, h.Header.Quorum = [][]history.Process{{"r1", "r2", "r3"}}, 2
	if !slices.Contains(r.Read(h), takenOverHeld) {
		t.Error("nobody took over")
	}
}
