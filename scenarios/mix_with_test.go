package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
)

// TestAdditionsToTheMixAreDrawn checks which kinds of faults are drawn. A kind that is off by default is drawn only if
// the mix lists it or the scenario has a fault of that kind. The other kinds are drawn as usual. If the mix specifies
// weights, kinds without a weight are not drawn.
func TestAdditionsToTheMixAreDrawn(t *testing.T) {
	const usual = "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\n"
	const flushed = usual + "faults: [flush redis-1 at 3s]\n"
	for text, want := range map[string][]nemesis.Kind{
		usual: nil,
		usual + "mix: {with: [evict key, flush]}\n":                           {nemesis.EvictKey, nemesis.Flush},
		usual + "mix: {with: [client pause], weights: {pause: 3, jump: 1}}\n": {nemesis.ClientPause},
		flushed: {nemesis.Flush},
		flushed + "mix: {with: [client pause]}\n":         {nemesis.Flush, nemesis.ClientPause},
		flushed + "mix: {weights: {pause: 3, jump: 1}}\n": nil,
	} {
		s := parseText(t, text)
		if got := s.Mix.Additions(); !slices.Equal(got, want) {
			t.Errorf("%s\nadds %v, not %v", text, got, want)
		}
		g, err := draw.NewGenerator(s.Mix, s.Targets(), s.Limit)
		if err != nil {
			t.Fatal(err)
		}
		drawn := map[nemesis.Kind]bool{}
		for seed := range uint64(300) {
			for _, f := range g.Draw(seed) {
				drawn[f.Kind] = true
			}
		}
		for _, k := range nemesis.Kinds {
			if k.Weight() == 0 && drawn[k] != slices.Contains(want, k) {
				t.Errorf("%s\n%v drawn: %v", text, k, drawn[k])
			}
		}
		if !drawn[nemesis.Pause] || !drawn[nemesis.Jump] {
			t.Errorf("%s\ndraws the usual kinds no longer: %v", text, drawn)
		}
	}
	_, err := Parse("x.yaml", []byte("name: x\nservers: {etcd: 3}\nlock: {protocol: etcd}\nmix: {with: [flush]}\n"))
	if err == nil || !strings.Contains(err.Error(), "a fault of kind flush cannot affect anything on etcd servers") {
		t.Errorf("etcd: %v", err)
	}
}
