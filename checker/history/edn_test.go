package history

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// editions contains the same five operations in the forms that Jepsen has used over time: one map per line, which is
// the current form; in one vector with comments; and as a list of records without times and indexes.
var editions = []string{
	`{:type :invoke, :f :acquire, :value nil, :process 0, :time 123, :index 0}
{:type :ok, :f :acquire, :value {:client "a}\"", :fence 7}, :process 0, :time 200, :index 1}
{:type :info, :f :start-partition, :value [:isolated {"n1" #{"n2"}}], :process :nemesis, :time 250, :index 2}
{:type :invoke, :f :release, :value nil, :process 0, :time 300, :index 4}
{:type :fail, :f :release, :value nil, :process 0, :time 310, :error :not-held, :index 5, :node \{}
`,
	`; a lock
[{:type :invoke :f :acquire :process 0 :time 123 :index 0} #_{:type :odd}
{:type :ok, :f :acquire, :value {:fence 7}, ; and ] here
 :process 0, :time 200, :index 1}, {:type :info, :f :start-partition, :value [:isolated {"n1" #{"n2"}}],
 :process :nemesis, :time 250, :index 2}
{:type :invoke, :f :release, :value #inst "1985-04-12T23:20:50.52Z", :process 0, :time 300, :index 4}
{:type :fail, :f :release, :process 0, :time 310, :error :not-held, :index 5}]
; the end
`,
	`(#jepsen.history.Op{:type "invoke", :f "acquire", :process 0}
#knossos.op.Op {:type :ok, :f :acquire, :value {:token 7}, :process 0}
{:type :info, :f :start-partition, :value [:isolated {"n1" #{"n2"}}], :process :nemesis}
{:type :invoke, :f :release, :process 0}{:type :fail, :f :release, :process 0, :error :not-held})`,
}

func TestEveryEditionOfAHistoryIsRead(t *testing.T) {
	for i, text := range editions {
		said, err := DecodeEDN(strings.NewReader(text), nil)
		if err != nil {
			t.Fatalf("edition %d: %v", i, err)
		}
		want := []Event{
			{Index: 0, Time: 123, Process: "process-0", Type: Invoke, F: Acquire, Lock: "lock"},
			{Index: 1, Time: 200, Process: "process-0", Type: OK, F: Acquire, Lock: "lock", Token: 7},
			{Index: 2, Time: 250, Process: Nemesis, Type: Info, F: "start-partition",
				Value: `start-partition [:isolated{"n1"#{"n2"}}]`},
			{Index: 4, Time: 300, Process: "process-0", Type: Invoke, F: Release, Lock: "lock"},
			{Index: 5, Time: 310, Process: "process-0", Type: Fail, F: Release, Lock: "lock",
				Why: "not-held"},
		}
		if timed := i < 2; timed != said.Timed || said.Cut != nil {
			t.Errorf("edition %d: times %v, cut %v", i, said.Timed, said.Cut)
		}
		if !said.Timed {
			for n := range want {
				want[n].Index, want[n].Time = n, stepEDN*Time(n)
			}
		}
		if !reflect.DeepEqual(said.History.Events, want) {
			t.Errorf("edition %d:\ngot  %+v\nwant %+v", i, said.History.Events, want)
		}
	}
}

func TestManyLocksAreDistinguishedByTheirKeys(t *testing.T) {
	said, err := DecodeEDN(strings.NewReader(`{:type :invoke, :f :acquire, :process 1, :value [3 nil]}
{:type :ok, :f :acquire, :process 1, :value #jepsen.independent/tuple [:orders nil]}
{:type :ok, :f :write, :process 1, :value [3 nil]}
{:type :ok, :f :read, :process 1, :key "key-7", :value #jepsen.independent/tuple [3 "a"]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Lock{"3", "orders", "lock", "key-7"} {
		if e := said.History.Events[i]; e.Lock != want {
			t.Errorf("operation %d is of the lock %q, want %q", i, e.Lock, want)
		}
	}
	for i, want := range map[int]string{2: "[3 nil]", 3: `[3 "a"]`} {
		if v := said.History.Events[i].Value; v != want {
			t.Errorf("%q was written or read, want %q", v, want)
		}
	}
}

const goodEDN = "{:type :ok, :f :lost, :process 0, :index 4}\n"

func TestBadEDNIsRefusedWithLineAndReason(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "line 1: the file contains no operation"},
		{"[ ]", "line 1: the file contains no operation"},
		{"; nothing\n\n", "line 3: the file contains no operation"},
		{goodEDN + "{:type :ok, :f :enqueue, :process 0}", "line 2: :f :enqueue is neither a lock operation nor a " +
			"register operation (:acquire, :release, :extend, :lost, :read, :write, :cas, :txn)"},
		{goodEDN + "\n{:type :ok, :f :aquire, :process 0}", "line 3: :f :aquire is neither a lock operation nor " +
			"a register operation (:acquire, :release, :extend, :lost, :read, :write, :cas, :txn); " +
			"did you mean :acquire?"},
		{"{:type :okay, :f :lost, :process 0}",
			"line 1: :type :okay is unknown (write :invoke, :ok, :fail or :info); did you mean :ok?"},
		{"{:tpye :ok, :f :lost, :process 0}", "line 1: an operation without :type (is :tpye a misspelling of it?)"},
		{"{:valid? true}", "line 1: an operation without :type: it needs :type, :f and :process"},
		{"{:type 1, :f :lost, :process 0}", "line 1: :type 1 is not a keyword"},
		{"{:type :ok, :f [1], :process 0}", "line 1: :f [1] is not a keyword"},
		{"{:type :ok, :f :lost, :process [0]}", "line 1: :process [0] is neither a number nor a name"},
		{"{:type :ok, :f :lost, :process 0, :time 1.5}", "line 1: :time 1.5 is not a whole number"},
		{"{:type :ok, :f :lost, :process 0, :time 99999999999999999999N}",
			"line 1: :time 99999999999999999999 does not fit in 64 bits"},
		{"{:type :ok, :f :lost, :process 0, :time 1" + strings.Repeat("0", 200) + "N}",
			"line 1: :time 1" + strings.Repeat("0", 98) + "… does not fit in 64 bits"},
		{goodEDN + goodEDN, "line 2: :index 4 is out of order: it follows 4"},
		{"{:type :ok, :f :lost, :process 0, :index -4}", "line 1: :index is -4: it must be 0 or larger"},
		{"{:type :ok, :f :lost, :process 0, :index 4611686018427387905}",
			"line 1: :index 4611686018427387905 is too large"},
		{"{:type :invoke, :type :ok, :f :lost, :process 0}", "line 1: key :type occurs twice"},
		{"{:type :ok, :f :lost, :process 0, :other {:a 1, \"}\" 2, :a 1}}", "line 1: key :a occurs twice"},
		{"{:type :ok, :f :lost, :process 0, :value #x{[1] 2 ; }\n, (1N) 3}}", "line 1: key [1] occurs twice"},
		{"{:type :ok, :f :lost, :process 0, :value [#{1 2 1}]}", "line 1: 1 occurs twice in a set"},
		{goodEDN + "{:type :ok, :f :lost, :process 0, :time 3}", "1 of 2 operations state no :time"},
		{"{:type :ok, :f :lost, :process}", "line 1: not EDN: "},
		{"{:type :ok, :type :ok, :process 1 2}", "line 1: not EDN: "},
		{"{:type :ok, :f (], :process 0}", "line 1: expected ')', found ']'"},
		{"{\"time\": 1}", "line 1: not EDN: "},
		{"é", "line 1: expected an operation (a map in braces), found 'é'"},
		{"\x00\x01", `line 1: expected an operation (a map in braces), found '\x00'`},
		{"[" + goodEDN + "] 5", `line 2: '5' after the end of the history`},
		{goodEDN + "]", `line 2: expected an operation (a map in braces), found ']'`},
		{"#{1 2}", `line 1: expected the name of a record after #, found '{'`},
		{"#_ 5", `line 1: expected a map after #_, found '5'`},
		{"#" + strings.Repeat("x", 200), "line 1: the name of a record after # is too long"},
		{"{" + strings.Repeat("[", 200), "line 1: brackets are nested more than 100 deep"},
		{"{:a \"" + strings.Repeat("x", 2<<20) + "\"}", "line 1: an operation of more than 1048576 bytes"},
	} {
		_, err := DecodeEDN(strings.NewReader(c.in), nil)
		if got := fmt.Sprint(err); !strings.HasPrefix(got, c.want) || c.want[len(c.want)-1] != ' ' && got != c.want {
			t.Errorf("%.80q:\ngot  %s\nwant %s", c.in, got, c.want)
		}
	}
}

// TestWholeNumbersAreReadHoweverEDNWritesThem tries every number format as a time, a process, an index and a token.
// Numbers that EDN does not allow are refused with an error that says what they are.
func TestWholeNumbersAreReadHoweverEDNWritesThem(t *testing.T) {
	const ( // the limits of int64
		most  = 1<<63 - 1
		least = -1 << 63
	)
	for _, c := range []struct {
		text  string
		value int64
		// the error after the key's name, or the whole error if it does not name a key and begins with text
		wrong string
	}{
		{"7", 7, ""}, {"+7", 7, ""}, {"7N", 7, ""}, {"+7N", 7, ""}, {"0", 0, ""}, {"-0", 0, ""}, {"0N", 0, ""},
		{"7M", 7, ""}, {"7.0", 7, ""}, {"7.00M", 7, ""}, {"7e3", 7000, ""}, {"7E+3", 7000, ""}, {"70e-1M", 7, ""},
		{"9223372036854775807", most, ""}, {"9223372036854775807N", most, ""}, {"-9223372036854775808", least, ""},
		{"9007199254740991.0", 1<<53 - 1, ""},
		{"1.5", 0, "is not a whole number"}, {"1.5M", 0, "is not a whole number"},
		{"15e-1", 0, "is not a whole number"},
		{"9223372036854775808N", 0, "does not fit in 64 bits"}, {"1e30M", 0, "does not fit in 64 bits"},
		{"1e17", 0, "may have been rounded: write it as a whole number, without a decimal point or exponent"},
		{"9007199254740993.0", 0, // which a float64 rounds to 2^53
			"may have been rounded: write it as a whole number, without a decimal point or exponent"},
		{"9223372036854775808", 0,
			"9223372036854775808 does not fit in 64 bits: EDN writes such a number with an N at its end"},
		{"1e400", 0, "1e400 is too large for a floating-point number: EDN writes such a number with an M at its end"},
		{"1/2", 0, "1/2 is a ratio, which EDN does not have: write a decimal number"},
		{"4/2", 0, "4/2 is a ratio, which EDN does not have: write a decimal number"},
		{"0x1F", 0, "0x1F is not a number in EDN: write it in decimal digits, without leading zeros"},
		{"017", 0, "017 is not a number in EDN: write it in decimal digits, without leading zeros"},
		{"-2r101", 0, "-2r101 is not a number in EDN: write it in decimal digits, without leading zeros"},
		{"1_000", 0, "1_000 is not a number in EDN: write it in decimal digits, without leading zeros"},
		{"1.", 0, "1. is not a number in EDN: write it in decimal digits, without leading zeros"},
		{"##NaN", 0, "##NaN is not a number in EDN"}, {"##-Inf", 0, "##-Inf is not a number in EDN"},
	} {
		for key, line := range map[string]string{
			":time":    "{:type :ok, :f :acquire, :process 0, :time %s}",
			":process": "{:type :ok, :f :acquire, :process %s}",
			":fence":   "{:type :ok, :f :acquire, :process 0, :value {:fence %s, :at \"1/2 ;\"}} ; 1/2",
		} {
			h, err := DecodeEDN(strings.NewReader(fmt.Sprintf(line, c.text)), nil)
			if c.wrong == "" {
				if err != nil {
					t.Errorf("%s %s: %v", key, c.text, err)
					continue
				}
				e := h.History.Events[0]
				got := map[string]any{":time": int64(e.Time), ":process": e.Process, ":fence": int64(e.Token)}[key]
				want := any(c.value)
				if key == ":process" {
					want = Process(fmt.Sprintf("process-%d", c.value))
				}
				if got != want {
					t.Errorf("%s %s is read as %v", key, c.text, got)
				}
				continue
			}
			wrong := c.wrong
			if key == ":fence" && c.text == "1e30M" { // inside a collection, the library reads a decimal as a float64
				wrong = "may have been rounded: write it as a whole number, without a decimal point or exponent"
			}
			says := "line 1: " + wrong
			if !strings.HasPrefix(wrong, c.text) {
				says = "line 1: " + key
			}
			if got := fmt.Sprint(err); !strings.HasPrefix(got, says) || !strings.HasSuffix(got, wrong) {
				t.Errorf("%s %s: %s, want %q", key, c.text, got, wrong)
			}
		}
	}
}

// TestACutHistoryIsReadUpToThere cuts off a history after every byte. The complete operations must be read, and the
// result must say that there may have been more.
func TestACutHistoryIsReadUpToThere(t *testing.T) {
	const op = `{:type :ok, :f :lost, :process "a\"}", :value ({} \} [])}`
	vector := "[" + op + "\n" + op + " ; {\n]"
	for n := 1; n < len(vector); n++ {
		said, err := DecodeEDN(strings.NewReader(vector[:n]), nil)
		whole := strings.Count(vector[:n], "[])}")
		switch {
		case whole == 0 && err == nil:
			t.Errorf("%q: nothing was there, and it was read", vector[:n])
		case whole > 0 && err != nil:
			t.Errorf("%q: %v", vector[:n], err)
		case whole > 0 && (len(said.History.Events) != whole || said.Cut == nil):
			t.Errorf("%q: %d operations, cut: %v", vector[:n], len(said.History.Events), said.Cut)
		}
	}
	said, err := DecodeEDN(strings.NewReader(op+"\n"+op[:20]), nil)
	if want := "line 2: the file ends in the middle of the history"; err != nil || fmt.Sprint(said.Cut) != want {
		t.Errorf("%v, cut: %v; want %s", err, said.Cut, want)
	}
}

// failing is a reader that returns all of text and then a disk error.
type failing struct{ text io.Reader }

func (r failing) Read(p []byte) (int, error) {
	n, err := r.text.Read(p)
	if err == io.EOF {
		err = io.ErrNoProgress
	}
	return n, err
}

func TestAnErrorOfTheDiskIsNoEndOfTheHistory(t *testing.T) {
	for _, text := range []string{goodEDN, goodEDN + "{:type", "[" + goodEDN, "#", "#_"} {
		if _, err := DecodeEDN(failing{strings.NewReader(text)}, nil); err == nil ||
			!strings.Contains(err.Error(), io.ErrNoProgress.Error()) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzDecodeEDN checks that, whatever a file contains, DecodeEDN returns either an error or a history that is in index
// order and can be encoded.
func FuzzDecodeEDN(f *testing.F) {
	for _, text := range editions {
		f.Add([]byte(text))
	}
	f.Add([]byte(goodEDN + "{:type"))
	f.Add([]byte(`{:type :ok :f :acquire :process 0 :value {[] {} #{} 1N} :error #foo/bar "\u0000" :time -1}`))
	f.Add([]byte("{\"\xff\" \\u12 #_ #_ 1 2 ^{:a 1} b @}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		said, err := DecodeEDN(strings.NewReader(string(in)), nil)
		if err != nil {
			return
		}
		if err := Encode(io.Discard, said.History); err != nil {
			t.Fatalf("read but not writable: %v", err)
		}
	})
}

func BenchmarkDecodeEDN(b *testing.B) {
	text := strings.Repeat(`{:type :invoke, :f :acquire, :value nil, :process 0, :time 123456789}`+"\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeEDN(strings.NewReader(text), nil); err != nil {
			b.Fatal(err)
		}
	}
}
