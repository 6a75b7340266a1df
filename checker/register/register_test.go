package register

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// parse parses lines like "0 ok read 5": process, type, function, value. A process that is not a number is the nemesis.
// "0 crash" means that process 0 crashed.
func parse(t *testing.T, lines string) *history.History {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(lines) {
		line = strings.Replace(line, " crash", " info lost", 1)
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(words) < 3 {
			continue
		}
		value := append(words, "nil")[3]
		fmt.Fprintf(&text, "{:process %s, :type :%s, :f :%s, :value %s}\n", words[0], words[1], words[2], value)
	}
	recorded, err := history.DecodeEDN(strings.NewReader(text.String()), nil)
	if err != nil {
		t.Fatalf("%s: %v", lines, err)
	}
	for i := range recorded.History.Events {
		if e := &recorded.History.Events[i]; e.F == history.Lost {
			e.F = history.Crashed
		}
	}
	return recorded.History
}

func TestRegisters(t *testing.T) {
	const holds, violated, undecided, unchecked = checker.Holds, checker.Violated, checker.Undecided, checker.Unchecked
	for _, c := range []struct {
		why, lines string
		initial    string
		want       checker.Outcome
		says       string // text that the explanation must contain
	}{
		{"what was written is read", "0 invoke write 3\n0 ok write 3\n1 invoke read\n1 ok read 3", "", holds,
			"Some order of the operations explains everything that was read: 2 took effect, 1 of which read a value, " +
				"and 0 more may"},
		{"a stale read", "0 invoke write 3\n0 ok write 3\n0 invoke write 4\n0 ok write 4\n1 invoke read\n1 ok read 3",
			"", violated, "It could have found 4."},
		{"a write is lost", "0 invoke write 3\n0 ok write 3\n1 invoke read\n1 ok read nil", "nil", violated,
			"It could only have found 3."},
		{"a read that brought nil, where nobody said what nil is",
			"0 invoke write 3\n0 ok write 3\n1 invoke read\n1 ok read nil", "", undecided,
			"but one does if the reads that returned nil may have found other values"},
		{"another value at first", "1 invoke read\n1 ok read 0", "", undecided,
			"but one does if the register did not hold nil at first"},
		{"that value at first", "1 invoke read\n1 ok read 0", "0", holds, ""},
		{"not that value at first", "1 invoke read\n1 ok read 0", "1", violated, "It could only have found 1."},
		{"both are open", "0 invoke cas [5 6]\n0 ok cas [5 6]\n1 invoke read\n1 ok read nil", "", undecided,
			"did not hold nil at first (state with --initial what it held), and the reads that returned nil may " +
				"have found other values"},
		{"a write that failed is seen", "0 invoke write 3\n0 fail write 3\n1 invoke read\n1 ok read 3", "nil", violated,
			""},
		{"of two calls of a process the one that failed is named by its value",
			"0 invoke write 3\n0 invoke write 4\n0 fail write 4\n1 invoke read\n1 ok read 3", "nil", holds, ""},
		{"and is not seen", "0 invoke write 3\n0 invoke write 4\n0 fail write 4\n1 invoke read\n1 ok read 4", "nil",
			violated, ""},
		{"a write whose outcome nobody knows is seen late",
			"0 invoke write 3\n0 info write :timeout\n1 invoke read\n1 ok read nil\n1 invoke read\n1 ok read 3", "nil",
			holds, "and 1 more may have"},
		{"it is seen and then not seen", "0 invoke write 3\n0 info write :timeout\n1 invoke read\n1 ok read 3\n" +
			"1 invoke read\n1 ok read nil", "nil", violated, ""},
		{"what never returned is seen", "0 invoke write 3\n1 invoke read\n1 ok read 3", "nil", holds, ""},
		{"the nemesis does nothing to registers", ":nemesis info start-partition\n0 invoke read\n" +
			":nemesis info kill [:n1]\n0 ok read nil", "nil", holds, ""},
		{"a compare-and-set that cannot be", "0 invoke write 3\n0 ok write 3\n1 invoke cas [2 4]\n1 ok cas [2 4]", "",
			violated, "explains the compare-and-set by process-1, which returned [2 4]"},
		{"nothing was read", "0 invoke write 3\n0 ok write 3\n1 invoke read\n1 fail read", "", unchecked,
			"No operation that took effect read anything."},
		{"equal values look different", "0 invoke write (1 2)\n0 ok write (1 2)\n1 invoke read\n1 ok read [1 2N]",
			"nil", holds, ""},
		{"different values look alike", "0 invoke write 1\n0 ok write 1\n1 invoke read\n1 ok read \"1\"", "", violated,
			`It could have found 1.`},
		{"only returns are recorded", "0 ok write 3\n1 ok read 3\n1 ok read 3\n0 ok write 4\n1 ok read 3", "",
			undecided, "one does if some operation was called earlier than the history shows"},
		{"registers are distinguished by keys", "0 invoke write [:x 1]\n0 ok write [:x 1]\n1 invoke read [:y nil]\n" +
			"1 ok read [:y nil]\n1 invoke cas [:x [1 2]]\n1 ok cas [:x [1 2]]", "nil", holds,
			"Some order of the operations on each of the 2 registers"},
		{"one of them is broken", "0 invoke write [:x 1]\n0 ok write [:x 1]\n1 invoke read [:y nil]\n" +
			"1 ok read [:y 1]", "nil", violated, "explains the read of the register :y by process-1"},
		{"one of them is open", "0 invoke write [:x 1]\n0 ok write [:x 1]\n1 invoke read [:y nil]\n1 ok read [:y 1]",
			"", undecided, "what it held). This is about the register :y."},
		{"a register holds pairs", "0 invoke write [1 2]\n0 ok write [1 2]\n1 invoke read\n1 ok read [1 2]", "", holds,
			""},
		{"a transaction is seen as a whole", "0 invoke txn [[:write :x 1] [:write :y 1]]\n" +
			"0 info txn [[:write :x 1] [:write :y 1]]\n1 invoke txn [[:read :x nil] [:r :y nil]]\n" +
			"1 ok txn [[:read :x 1] [:r :y 1]]", "0", holds, ""},
		{"a transaction is seen in part", "0 invoke txn [[:write :x 1] [:w :y 1]]\n" +
			"0 info txn [[:write :x 1] [:w :y 1]]\n1 invoke txn [[:read :x nil] [:read :y nil]]\n" +
			"1 ok txn [[:read :x 1] [:read :y 0]]", "0", violated, "explains the transaction by process-1"},
		{"transactions as reads and writes", "0 invoke write [[:w 0 1]]\n0 ok write [[:w 0 1]]\n" +
			"1 invoke read [[:r 0 nil] [:r 1 nil]]\n1 ok read [[:r 0 1] [:r 1 nil]]", "nil", holds, ""},
		{"an empty transaction", "0 invoke txn []\n0 ok txn []\n1 invoke read\n1 ok read nil", "nil", holds, ""},
		{"transactions on keys", "0 invoke txn [5 [[:w :x 1]]]\n0 ok txn [5 [[:w :x 1]]]\n" +
			"1 invoke txn [6 [[:r :x nil]]]\n1 ok txn [6 [[:r :x nil]]]", "nil", holds, "each of the 2 registers"},
		{"nil in a compare-and-set is known", "0 invoke write 3\n0 ok write 3\n1 invoke cas [nil 5]\n1 ok cas [nil 5]",
			"", violated, "It could have found 3."},
		{"the first of two that are broken", "0 invoke read [:y nil]\n0 ok read [:y 1]\n0 invoke read [:x nil]\n" +
			"0 ok read [:x 1]\n0 invoke read [:y nil]\n0 ok read [:y 2]", "nil", violated, "of the register :y"},
		{"the first of two that are broken, recorded last", "1 invoke write [:x 1]\n1 ok write [:x 1]\n" +
			"0 invoke read [:y nil]\n0 ok read [:y 1]\n0 invoke read [:x nil]\n0 ok read [:x 7]", "nil", violated,
			"of the register :y"},
		{"keys, and an outcome that nobody knows", "0 invoke write [:x 1]\n0 info write :timeout\n" +
			"1 invoke read [:y nil]\n1 ok read [:y nil]", "nil", holds, "each of the 2 registers"},
		{"a process crashes and does the same again", "0 invoke write 1\n0 crash\n1 invoke read\n1 ok read 1\n" +
			"0 invoke write 1\n0 ok write 1", "nil", holds, ""},
		{"threads of one process compare and set the same", "0 invoke cas [1 2]\n0 invoke cas [1 2]\n0 ok cas\n" +
			"0 ok cas", "1", violated, "It could only have found 2."},
		{"threads of one process write the same",
			"0 invoke write 1\n1 invoke write 2\n1 ok write 2\n0 invoke write 1\n" +
				"0 ok write 1\n1 invoke read\n1 ok read 2", "", undecided,
			"or several threads share a process name"},
		{"threads of one process do different things", "0 invoke write 1\n0 invoke read\n0 invoke write 2\n" +
			"0 ok write 2\n0 ok read 1\n0 ok write 1", "nil", holds, ""},
		{"whatever the threads did", "0 invoke write 1\n0 invoke write 1\n0 ok write 1\n0 ok write 1\n1 invoke read\n" +
			"1 ok read 2", "", violated, ""},
	} {
		h := parse(t, c.lines)
		h.Header.Initial = c.initial
		if of, err := Of(h); !of || err != nil {
			t.Errorf("%s: %t, %v", c.why, of, err)
			continue
		}
		v, _ := Check(h)
		f := v.Of(checker.Linearizability)
		if f.Outcome != c.want || !strings.Contains(f.Explanation, c.says) {
			t.Errorf("%s: %v: %s\nwant %v: … %s", c.why, f.Outcome, f.Explanation, c.want, c.says)
		}
		for _, law := range checker.Laws {
			if f := v.Of(law); f.Outcome != checker.Unchecked || f.Explanation != "The history contains no lock." {
				t.Errorf("%s: %s %v: %s", c.why, law, f.Outcome, f.Explanation)
			}
		}
	}
}

// TestClocksLeaveOpenWhatTheyCannotDecide checks that the law is never found to hold if the clocks may be wrong. The
// law is violated only if there is a violation for every possible clock error.
func TestClocksLeaveOpenWhatTheyCannotDecide(t *testing.T) {
	for _, c := range []struct {
		error history.Time // the clock error; events are 1 ms apart
		lines string
		want  checker.Outcome
		says  string
	}{
		{1e5, "0 invoke write 3\n0 ok write 3\n1 invoke read\n1 ok read nil", checker.Violated, ""},
		{6e5, "0 invoke write 3\n0 ok write 3\n1 invoke read\n1 ok read nil", checker.Undecided, "off by 600µs each"},
		{1e12, "0 invoke write 3\n0 ok write 3\n1 invoke read\n1 ok read 4", checker.Violated, ""},
		{1e5, "0 invoke write 3\n0 ok write 3\n1 invoke read\n1 ok read 3", checker.Undecided, "off by 100µs each"},
		{9e18, "1 invoke read\n1 ok read 3\n0 invoke write 3\n0 ok write 3", checker.Undecided, ""},
		{1e5, "1 invoke read\n1 ok read 3\n0 invoke write 3\n0 ok write 3", checker.Violated, ""},
	} {
		h := parse(t, c.lines)
		h.Header.ClockError, h.Header.Initial = c.error, "nil"
		if f := judged(t, h); f.Outcome != c.want || !strings.Contains(f.Explanation, c.says) {
			t.Errorf("%s by clocks off by %v: %v: %s", c.lines, c.error, f.Outcome, f.Explanation)
		}
	}
}

// TestWhatWasNotRecordedMayHaveBeenRead checks a history in which process 0 wrote 3. Process 0's record ends early, at
// the time in the header's "seen" field. Whatever process 0 wrote after that may have been read.
func TestWhatWasNotRecordedMayHaveBeenRead(t *testing.T) {
	for _, c := range []struct {
		seen, error history.Time // process 1 read at 3 ms
		want        checker.Outcome
	}{
		{1e6, 0, checker.Undecided}, {3e6, 0, checker.Undecided}, {3e6 + 1, 0, checker.Violated},
		{3e6 + 2e5, 1e5, checker.Undecided}, {3e6 + 2e5 + 1, 1e5, checker.Violated}, {1e6, 9e18, checker.Undecided},
	} {
		h := parse(t, "0 invoke write 3\n0 ok write 3\n1 invoke read\n1 ok read 4")
		h.Header.Initial, h.Header.ClockError = "nil", c.error
		h.Header.Seen = map[history.Process]history.Time{"process-0": c.seen, "process-1": 3e6}
		f := judged(t, h)
		if says := "but the record of process-0 ends at"; f.Outcome != c.want ||
			f.Outcome == checker.Undecided && !strings.Contains(f.Explanation, says) {
			t.Errorf("seen until %v, clocks off by %v: %v: %s", c.seen, c.error, f.Outcome, f.Explanation)
		}
	}
}

// TestTooManyOrdersAreLeftOpen checks that the law is undecided if there are too many possible orders. The history has
// many writes and compare-and-sets whose outcomes are unknown, and a read that no order explains.
func TestTooManyOrdersAreLeftOpen(t *testing.T) {
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, "%d invoke cas [%d %d]\n%d info cas :timeout\n", i, i, i+1, i)
		fmt.Fprintf(&lines, "%d invoke write %d\n%d info write :timeout\n", 100+i, i%7, 100+i)
	}
	h := parse(t, lines.String()+"999 invoke read\n999 ok read 99")
	h.Header.Initial = "0"
	f := judged(t, h)
	if f.Outcome != checker.Undecided || f.Explanation !=
		"There are too many orders of 121 operations to try them all." {
		t.Errorf("%v: %s", f.Outcome, f.Explanation)
	}
}

// TestTheWitnessIsTheOperation checks that a violation's witness consists of the operation's call and return.
func TestTheWitnessIsTheOperation(t *testing.T) {
	h := parse(t, "0 invoke write 3\n1 invoke read\n2 invoke read\n2 ok read 3\n1 ok read 4\n0 ok write 3")
	h.Header.Initial = "nil"
	h.Events[4].Index, h.Events[5].Index = 40, 50
	f := judged(t, h)
	if f.Outcome != checker.Violated || fmt.Sprintf("%v at %d, %v, %s, %s", f.Witness, f.At, f.Holders,
		f.Lock, f.Cause) != "[1 40] at 40, [process-1], lock, no order explains it" || f.Remedy == "" {
		t.Errorf("%+v", f)
	}
}

func TestWhatIsOfRegisters(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  bool
		err   string
	}{
		{"0 invoke read", true, ""}, {"0 invoke cas [1 2]\n0 ok cas [1 2]", true, ""},
		{":nemesis info start", false, ""}, {"0 invoke acquire", false, ""},
		{"0 invoke acquire\n0 ok acquire\n0 invoke read\n0 ok read 5", false, ""},
		{"0 invoke acquire\n1 invoke cas [1 2]", false,
			"index 1: the history contains both cas of process-1 and acquire of process-0, but a history " +
				"contains either registers or locks with the data that they guard"},
		{"0 invoke cas 1", false, "index 0: cas of process-0: its value is 1, not [OLD NEW]"},
		{"0 invoke cas", false, "index 0: cas of process-0: its value is nil, not [OLD NEW]"},
		{"0 invoke cas [1 2 3]", false, "index 0: cas of process-0: its value is [1 2 3], not [OLD NEW]"},
		{"0 invoke txn 1", false, "index 0: txn of process-0: its value is 1, not [[:read REGISTER VALUE] …]"},
		{"0 invoke txn [[:append :x 1]]", false, "index 0: txn of process-0: [[:append :x 1]] holds something other " +
			"than [:read REGISTER VALUE] and [:write REGISTER VALUE]"},
		{"0 invoke cas [1 2]\n0 info cas :timeout", true, ""},
		{"0 invoke write 1\n0 invoke write 2\n0 ok write 2\n0 info write :timeout", true, ""},
		{"0 invoke write 1\n0 invoke write 2\n0 info write :timeout", false,
			"index 2: write of process-0: the history does not show which of the process's calls has returned"},
	} {
		got, err := Of(parse(t, c.lines))
		if got != c.want || err == nil && c.err != "" || err != nil && err.Error() != c.err {
			t.Errorf("%s: %t, %v", c.lines, got, err)
		}
	}
	granted := parse(t, "0 invoke read")
	granted.Events[0].Attempt = "process-0/1"
	if of, err := Of(granted); of || err != nil {
		t.Errorf("a read on behalf of a grant: %t, %v", of, err)
	}
}

// FuzzOf checks that, for any values, Check judges a history as one of registers if and only if Of says that it is one.
func FuzzOf(f *testing.F) {
	f.Add("1", "[1 2]", "[[:read :x nil]]", uint8(3))
	f.Add("[:x 1]", "[:x [1 2]]", "[:x [[:w :y 1]]]", uint8(77))
	f.Fuzz(func(t *testing.T, a, b, c string, order uint8) {
		h := &history.History{}
		for i := range 8 {
			value := []string{a, b, c, ""}[(int(order)>>(i%4))%4]
			fs := []history.F{history.Read, history.Write, history.CAS, history.Txn}
			h.Events = append(h.Events,
				history.Event{Index: i, Process: history.Process("p" + value[:min(1, len(value))]),
					Type: history.Type(1 + (i+int(order))%4), F: fs[(i/2+int(order)/16)%4], Value: value})
		}
		of, err := Of(h)
		if _, is := Check(h); is != of || of && err != nil {
			t.Errorf("of registers: %t (%v), judged as such: %t", of, err, is)
		}
	})
}
