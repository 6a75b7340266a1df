package sim

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestQueueYieldsByTimeThenBySequence(t *testing.T) {
	var push func(q queue, events []event, left int)
	histories := 0
	push = func(q queue, events []event, left int) {
		histories++
		checkDrain(t, q, events)
		if left == 0 {
			return
		}
		for at := range Time(3) {
			e := event{at: at, seq: uint64(len(events))}
			next := slices.Clone(q)
			next.push(&e)
			push(next, append(slices.Clone(events), e), left-1)
		}
	}
	push(nil, nil, 7)
	if histories != 3280 { // 3^0 + ... + 3^7
		t.Errorf("enumerated %d histories", histories)
	}
}

// checkDrain checks that the heap yields the events in the same order as a stable sort.
func checkDrain(t *testing.T, q queue, events []event) {
	t.Helper()
	q, want := slices.Clone(q), slices.Clone(events)
	slices.SortStableFunc(want, func(a, b event) int { return int(a.at - b.at) })
	for _, w := range want {
		var got event
		if q.pop(&got); got.at != w.at || got.seq != w.seq {
			t.Fatalf("popped %v/%d, want %v/%d of %v", got.at, got.seq, w.at, w.seq, events)
		}
	}
	if len(q) != 0 {
		t.Fatalf("%d events left of %v", len(q), events)
	}
}

func TestElapseIsFloorAndUnelapseItsLeastInverse(t *testing.T) {
	for _, ppm := range []int64{0, 1, -1, 3, -3, 9900, -9900, 500_000, -500_000, 900_000, -900_000} {
		for d := int64(0); d < 3_000; d++ {
			exact := d * (million + ppm)
			if got := Elapse(d, ppm); got != exact/million {
				t.Fatalf("Elapse(%d, %d) = %d, want %d", d, ppm, got, exact/million)
			}
		}
		for _, d := range []int64{0, 1, 2, 999, 1_000_000, 10_000_000_001, int64(24 * time.Hour)} {
			u := Unelapse(d, ppm)
			if Elapse(u, ppm) < d || u > 0 && Elapse(u-1, ppm) >= d {
				t.Errorf("Unelapse(%d, %d) = %d is not the least", d, ppm, u)
			}
		}
	}
}

// TestTrueTimeIsTheFirstMatchingInstant compares trueTime with what the clock shows at every instant.
func TestTrueTimeIsTheFirstMatchingInstant(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var c clock
		c.reset(Epoch)
		const horizon = 60
		var course [horizon + 200]struct{ mono, wall int64 }
		for now := range Time(len(course)) {
			if now < horizon && r.IntN(10) == 0 {
				c.jump(now, time.Duration(r.IntN(41)-20))
			}
			if now < horizon && r.IntN(15) == 0 && c.last().ppm == 0 {
				c.drift(now, int64(r.IntN(1_000_000)-500_000))
			}
			course[now].mono, course[now].wall = c.monotonic(now), c.wall(now)
		}
		from, at := Time(r.IntN(horizon)), int64(r.IntN(horizon))
		for now := from; ; now++ {
			if course[now].mono >= at {
				if got := c.trueTime(Monotonic, at, from); got != now {
					t.Fatalf("monotonic %d from %d: %d, want %d; segments %+v", at, from, got, now, c.segments)
				}
				break
			}
		}
		for now := from; ; now++ {
			if course[now].wall >= Epoch+at {
				if got := c.trueTime(Wall, Epoch+at, from); got != now {
					t.Fatalf("wall %d from %d: %d, want %d; segments %+v", at, from, got, now, c.segments)
				}
				break
			}
		}
	}
}

func TestStreamsAreIndependentOfEachOther(t *testing.T) {
	a, b := newStream(1, "a"), newStream(1, "b")
	var first []uint64
	for range 5 {
		first = append(first, a.Uint64())
	}
	again := newStream(1, "a")
	for i := range first {
		b.Uint64()
		if again.Uint64() != first[i] {
			t.Fatal("a draw on one stream moved another")
		}
	}
	other := newStream(2, "a")
	if other.Uint64() == first[0] || b.Uint64() == first[0] {
		t.Error("seed and name must both matter")
	}
}

func TestDifferentStringsHaveDifferentHashes(t *testing.T) {
	seen := map[uint64]string{}
	for _, s := range []string{"", "a", "b", "ab", "ba", "a\x00", "\x00", "redis-1", "redis-2", "client-1->redis-12",
		"client-11->redis-2", "12345678", "123456789", "12345678\x00"} {
		h := hashString(1, s)
		if t0, ok := seen[h]; ok {
			t.Errorf("%q and %q collide", s, t0)
		}
		seen[h] = s
	}
}

func TestTailTakesItsShareOfMessages(t *testing.T) {
	l := link{w: New(1, Options{}), delay: Delay{ms, 2 * ms}, tail: Tail{PPM: 10_000, Delay: Delay{50 * ms, 60 * ms}}}
	slow := 0
	for i := range 100_000 {
		switch d := l.draw(strconv.Itoa(i), "set", 0).Duration(); {
		case d >= 50*ms && d <= 60*ms:
			slow++
		case d < ms || d > 2*ms:
			t.Fatalf("a delay of %v", d)
		}
	}
	if slow < 900 || slow > 1100 { // 1000 are expected, with a standard deviation of 31
		t.Errorf("%d of 100,000 messages were slow", slow)
	}
}

func TestARequestHasItsNumberWhateverItsClientAsksBesideIt(t *testing.T) {
	w := New(1, Options{})
	alone, among := link{w: w, name: 1}, link{w: w, name: 2}
	for i := range 3 {
		if n := alone.number("c/1", "extend"); n != uint64(i) {
			t.Errorf("request %d has number %d", i, n)
		}
		among.number("c/2", "extend")
		among.number("c/1", "set")
		if n := among.number("c/1", "extend"); n != uint64(i) {
			t.Errorf("request %d has number %d among others", i, n)
		}
	}
}

func TestKeysOfSmallNumbersDiffer(t *testing.T) {
	seen := map[Key]string{}
	for a := range uint64(50) {
		for b := range uint64(50) {
			for what, key := range map[string]Key{"word": Key(a).Word(b), "text": Key(a).Text(string(rune('a' + b)))} {
				name := fmt.Sprint(a, what, b)
				if other, ok := seen[key]; ok {
					t.Errorf("%s and %s collide", name, other)
				}
				seen[key] = name
			}
		}
	}
}

// TestHashStringTakesEightBytesAtATime compares hashString with a simple byte-by-byte implementation. The hash must not
// change between versions, because digests must stay comparable.
func TestHashStringTakesEightBytesAtATime(t *testing.T) {
	text := "\x00\x01\x80\xff the lock of client-1/1 at redis-5\xfe\x7f"
	for n := range len(text) + 1 {
		want := 7 ^ uint64(n)*0x9e3779b97f4a7c15
		for i := 0; i <= n; i += 8 {
			var w uint64
			for j := i; j < min(i+8, n); j++ {
				w |= uint64(text[j]) << (8 * (j - i))
			}
			want = fold(want, w)
		}
		if got := hashString(7, text[:n]); got != want {
			t.Errorf("%q: %x, not %x", text[:n], got, want)
		}
	}
}

func TestCountsAreThoseOfAMap(t *testing.T) {
	var c counts
	for round := range 3 {
		c.reset()
		want := map[uint64]uint64{}
		s := NewStream(uint64(round), "keys")
		for range 2000 {
			key := s.Uint64() % 500 << (s.Uint64() % 3 * 20) // many keys start their search at the same slot
			if got := c.next(key); got != want[key] {
				t.Fatalf("%x was counted %d times, not %d", key, got, want[key])
			}
			want[key]++
		}
	}
}

// TestARequestReservesNoMemoryForArgumentsThatHaveNotArrived checks that a client cannot make the simulator reserve
// gigabytes by announcing a large number of arguments.
func TestARequestReservesNoMemoryForArgumentsThatHaveNotArrived(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	args, _, err := CutRequest([]byte("*536870912\r\n$4\r\nPING\r\n"))
	runtime.ReadMemStats(&after)
	if args != nil || err != nil {
		t.Errorf("%q, %v", args, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes", used)
	}
}

// TestRequestsAreCutAsByRedis expects what redis-server 7.0.15 does with an announced number of arguments: it ignores
// requests without arguments, and rejects numbers that are not written as Redis writes them.
func TestRequestsAreCutAsByRedis(t *testing.T) {
	const ping = "*1\r\n$4\r\nPING\r\n"
	for _, empty := range []string{"*0\r\n", "*-1\r\n", "*-5\r\n", "*-2147483649\r\n"} {
		args, rest, err := CutRequest([]byte(empty + ping))
		if args != nil || string(rest) != ping || err != nil {
			t.Errorf("%q: %q, %q, %v", empty, args, rest, err)
		}
	}
	for _, part := range []string{"", "*", "*0", "*-1\r", "*1\r\n", "*1\r\n$4\r\nPIN", ping[:len(ping)-1]} {
		if args, rest, err := CutRequest([]byte(part)); args != nil || string(rest) != part || err != nil {
			t.Errorf("%q: %q, %q, %v", part, args, rest, err)
		}
	}
	for _, wrong := range []string{"*\r\n", "*-0\r\n", "*00\r\n", "*-01\r\n", "*+1\r\n", "*-99999999999999999999\r\n",
		"*2147483648\r\n", "*1\r\n$-1\r\n", "$1\r\n"} {
		if args, _, err := CutRequest([]byte(wrong + ping)); args != nil || err != ErrProtocol {
			t.Errorf("%q: %q, %v", wrong, args, err)
		}
	}
}
