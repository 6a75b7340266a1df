package history

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// agree parses text with the fast parser and reports whether that succeeded. If so, agree fails the test unless the EDN
// library gives the same result.
func agree(t *testing.T, text string) bool {
	t.Helper()
	var fast, slow operation
	if !fast.flat([]byte(text)) {
		return false
	}
	var p parser
	if err := p.unmarshal([]byte(text), &slow); err != nil || !reflect.DeepEqual(fast, slow) {
		t.Errorf("%q: read fast %#v\nby the library %#v, %v", text, fast, slow, err)
	}
	return true
}

// TestWhatIsReadFastIsReadAsByTheLibrary checks the fast parser against the EDN library on random maps, most of which
// are operations.
func TestWhatIsReadFastIsReadAsByTheLibrary(t *testing.T) {
	keys := []string{":index", ":time", ":process", ":type", ":f", ":key", ":value", ":error", ":other", "nil", "f"}
	values := []string{"0", "7", "-1", "007", "123456789012345678", "1234567890123456789", "1N", "1.5", "nil", "true",
		":ok",
		":start-partition", ":a/b", ":a1", ":-", ":", "[1 nil]", "[]", "[:a [1]]", "[[:read 0 1]]", "\"s\"", "#x 1",
		"{:a 1}", "sym", "#{1}", ";c\n1", "#_1 2", "(1 2)", "[1 2", "\\a"}
	blanks := []string{" ", ", ", "\n", "\t", "", "  "}
	read := map[bool]int{}
	for seed := range uint64(30_000) {
		r := rand.New(rand.NewPCG(seed, 3))
		some := func(list []string, of int) string { return list[r.IntN(min(of, len(list)))] }
		most := 11
		if seed%2 == 0 {
			most = 2 // draw only kinds of values that the fast parser usually accepts
		}
		var b strings.Builder
		b.WriteString("{")
		for range r.IntN(5) {
			b.WriteString(some(keys, 8+r.IntN(4)) + some(blanks, 4) + some(values, max(most, r.IntN(len(values)))) +
				some(blanks, 4+r.IntN(3)))
		}
		b.WriteString("}" + some([]string{"", "", "", " ", "x"}, 5))
		read[agree(t, b.String())]++
	}
	if read[true] < 1000 || read[false] < 1000 {
		t.Errorf("read fast %d, by the library alone %d", read[true], read[false])
	}
}

func FuzzFlat(f *testing.F) {
	f.Add(`{:type :invoke, :f :acquire, :value [3 nil], :process 0, :time 123, :index 0}`)
	f.Fuzz(func(t *testing.T, text string) { agree(t, text) })
}
