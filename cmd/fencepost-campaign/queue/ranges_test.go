package queue

import (
	"math/rand/v2"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// TestCoveredIsASet checks that covered behaves like a slice of booleans, one for each position.
func TestCoveredIsASet(t *testing.T) {
	t.Parallel()
	const size = 40
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var c covered
		var slow [size]bool
		for range 60 {
			p := portion{first: random.Uint64N(size)}
			p.size = 1 + random.Uint64N(min(6, size-p.first))
			free := true
			for at := p.first; at < p.end(); at++ {
				free = free && !slow[at]
			}
			if got := c.add(p); got != free {
				t.Fatalf("%v to %v: %v", p, c, got)
			}
			for at := p.first; free && at < p.end(); at++ {
				slow[at] = true
			}
			from, most := random.Uint64N(size+1), 1+random.Uint64N(9)
			below, want := uint64(0), portion{first: size}
			for at := range uint64(size) {
				if slow[at] && at < from {
					below++
				}
				if !slow[at] && at >= from && (want.size == 0 || want.end() == at && want.size < most) {
					if want.size == 0 {
						want.first = at
					}
					want.size++
				}
			}
			if got := c.gap(from, most, size); got != want || c.below(from) != below {
				t.Fatalf("from %d in %v: %v, %d below; want %v, %d", from, c, got, c.below(from), want, below)
			}
		}
		for i := 1; i < len(c); i++ {
			if c[i-1].end() >= c[i].first {
				t.Fatalf("%v touch or are not in order", c)
			}
		}
	}
}

func TestHalvesAreThePortion(t *testing.T) {
	t.Parallel()
	for size := uint64(2); size < 50; size++ {
		h := portion{7, size}.halves()
		if h[0].first != 7 || h[0].end() != h[1].first || h[1].end() != 7+size || h[0].size == 0 || h[1].size == 0 {
			t.Errorf("%d: %v", size, h)
		}
	}
}

// TestPortionsAreEnoughAndFew checks the portion sizes, which the README uses in its calculations.
func TestPortionsAreEnoughAndFew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ size, asked, want uint64 }{
		{1, 4096, 1},
		{3, 1, 1},
		{1000, 4096, 16},
		{100_000, 4096, 1563},
		{1_000_000, 4096, 4096},
		{1_000_000_000, 4096, 50_000},
		{1_000_000_000_000, 4096, 1 << 20},
		{1 << 63, 4096, 1 << 20},
	} {
		if got := portioned(campaign.Stage{Size: c.size, Portion: c.asked}); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.asked, c.size, got, c.want)
		}
	}
}

// TestTokensAreOfOneNameEach checks that a token contains only characters that are allowed in subjects and keys, and
// that different names have different tokens.
func TestTokensAreOfOneNameEach(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{"seeds", "a: seeds", "a=3a=20seeds", "a.b", "a>b", "a*b", "ä", "parts with 1 fault",
		"a b"} {
		k := token(name)
		if before, twice := seen[k]; twice {
			t.Errorf("%q and %q are both %s", before, name, k)
		}
		seen[k] = name
		for _, c := range k {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '=' && c != '-' &&
				c != '_' {
				t.Errorf("%q has %q", k, c)
			}
		}
	}
}
