package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func hunted(name string, runs int, caught bool) HuntedMutant {
	return HuntedMutant{Name: name, Of: "lock", Defect: "wrong", Source: "issue 1", Hunted: true, Caught: caught, Runs: runs,
		Law: "ownership", Cause: "removed by non-owner", Took: time.Duration(runs) * time.Second}
}

func TestOnlyACorpusThatWasCaughtAndKeptPasses(t *testing.T) {
	kept := SoundLock{Name: "lock", Runs: 10}
	broken, open := kept, kept
	broken.Broken, open.Open = []BrokenPromise{{Law: "ownership"}}, []string{"9 of 10 seeds were run"}
	for _, c := range []struct {
		corpus Corpus
		want   Result
	}{
		{Corpus{}, Undecided},
		{Corpus{Mutants: []HuntedMutant{hunted("a", 1, true)}}, Passed},
		{Corpus{Mutants: []HuntedMutant{hunted("a", 1, true)}, Sound: []SoundLock{kept}}, Passed},
		{Corpus{Mutants: []HuntedMutant{hunted("a", 1, true), hunted("b", 9, false)}}, Failed},
		{Corpus{Mutants: []HuntedMutant{hunted("a", 1, true), {Name: "b"}}}, Undecided},
		{Corpus{Mutants: []HuntedMutant{hunted("a", 1, false), {Name: "b"}}}, Failed},
		{Corpus{Mutants: []HuntedMutant{hunted("a", 1, true)}, Sound: []SoundLock{kept, broken}}, Failed},
		{Corpus{Mutants: []HuntedMutant{hunted("a", 1, true)}, Sound: []SoundLock{kept, open}}, Undecided},
		{Corpus{Sound: []SoundLock{kept}}, Undecided},
	} {
		if got := c.corpus.Standing(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.corpus, got, c.want)
		}
	}
}

func TestTheCorpusIsSummedUp(t *testing.T) {
	c := &Corpus{Seeds: 5000, Mutants: []HuntedMutant{hunted("slow", 2000, true), hunted("fast", 1, true), hunted("middle", 30, true),
		hunted("gone", 5000, false)}, Sound: []SoundLock{{Name: "lock", Promise: []string{"ownership"}, Runs: 3000}}, Bound: 0.001,
		Files: "out", Repeat: "fencepost corpus"}
	var text bytes.Buffer
	if err := CorpusText(&text, c, TextOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"corpus  4 mutants, at most 5,000 seeds each                      not as expected",
		" ✓ slow                      2,000  2000.00  ownership: removed by non-owner\n     wrong (issue 1)\n",
		" ✗ gone                      5,000  5000.00  escaped\n",
		"caught  3 of 4 mutants; median 30 seeds, most 2,000 seeds (slow)\n",
		"seconds median 30.00, most 2000.00 (slow)\n",
		" ✓ lock                         3,000  ownership\n",
		"no promise was broken in 3,000 runs: a run breaks one with a chance\n        below 0.1 % (95 % sure)\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	raw, err := CorpusJSON(c)
	var got struct {
		Caught     int
		MedianRuns int     `json:"median_runs"`
		MostRuns   int     `json:"most_runs"`
		SoundRuns  int     `json:"sound_runs"`
		RateBelow  float64 `json:"rate_below"`
		Expected   bool
	}
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil || got.Caught != 3 || got.MedianRuns != 30 || got.MostRuns != 2000 || got.SoundRuns != 3000 || got.RateBelow != 0.001 || got.Expected {
		t.Errorf("%+v, %v\n%s", got, err, raw)
	}
}
