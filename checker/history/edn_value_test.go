package history

import (
	"reflect"
	"testing"
)

// In alike, each row lists representations of values. By Clojure's =, all values in a row are equal, and values in
// different rows are not. A string that is not an EDN value is equal only to itself.
var alike = [][]string{
	{"1", "1N", " 1 ", "+1"}, {"-1"}, {"1.0", "1.00", "1e0", "+1.0"}, {"0.0", "-0.0"},
	{"1M", "1.0M", "1.00M"}, {"0.1234567890123456789M"}, {"0.1234567890123456788M"}, {"{:a 1 :a 2}"}, {"#{1 1}"},
	{"1/2"}, {"123456789012345678901234567890N"}, {`"1"`}, {`\1`}, {":1"},
	{"nil"}, {`"nil"`}, {":nil"}, {"true"}, {"a"}, {":a"}, {`"a"`}, {`\a`, `\u0061`}, {"97"}, {"a/b"},
	{"[1 2]", "(1 2)", "[1, 2N]", "[1 #_ 7 2]"}, {"[2 1]"}, {"[[1] 2]", "((1) 2)"}, {"[]", "()"}, {"#{}"}, {"{}"},
	{"#{1 2 3}", "#{3 2 1}"}, {"{:a 1 :b {2 3 4 5}}", "{:b {4 5, 2 3}, :a 1}"}, {"{:a 1}"}, {"#x 1", "#x 1N"}, {"#y 1"},
	{"1 2"}, {"1] [2"}, {"[1"}, {"a b"}, {""}, {`"a\nb"`, "\"a\nb\""}, {`"a\\nb"`},
}

func TestEqualValuesHaveEqualTexts(t *testing.T) {
	of := map[string]int{}
	for row, texts := range alike {
		for _, text := range texts {
			plain := PlainEDN(text)
			if other, seen := of[plain]; seen && other != row {
				t.Errorf("%q and %q both become %s", text, alike[other][0], plain)
			}
			of[plain] = row
			if first := PlainEDN(texts[0]); plain != first {
				t.Errorf("%q becomes %s, %q %s", texts[0], first, text, plain)
			}
			if again := PlainEDN(plain); again != plain {
				t.Errorf("%q becomes %s, and that %s", text, plain, again)
			}
		}
	}
}

func TestElementsOfWhatIsAList(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
		ok   bool
	}{
		{"[1 (2 3) nil]", []string{"1", "[2 3]", "nil"}, true}, {"(:a)", []string{":a"}, true}, {"[]", nil, true},
		{"1", nil, false}, {"", nil, false}, {"nil", nil, false}, {"#{1}", nil, false}, {"{1 2}", nil, false},
		{"[1] 2", nil, false}, {`"[1]"`, nil, false}, {"[1", nil, false},
	} {
		if got, ok := ElementsEDN(c.text); ok != c.ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q has the elements %q, %t", c.text, got, ok)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, texts := range alike {
		f.Add(texts[0])
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain := PlainEDN(text)
		if again := PlainEDN(plain); again != plain {
			t.Errorf("%q becomes %q, and that %q", text, plain, again)
		}
		ElementsEDN(text)
	})
}
