package resp

import (
	"fmt"
	"strings"
	"testing"
)

// values contains an example of each kind of value.
var values = []string{"+OK\r\n", "-ERR no\r\n", ":-7\r\n", "$-1\r\n", "$0\r\n\r\n", "$4\r\na\r\nb\r\n", "*-1\r\n",
	"*0\r\n",
	"*2\r\n:1\r\n*1\r\n$1\r\na\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n", "=5\r\ntxt:a\r\n", "!5\r\nERR a\r\n",
	"~1\r\n+a\r\n", ">2\r\n+message\r\n$1\r\na\r\n", "%1\r\n+a\r\n*1\r\n:1\r\n", "|1\r\n+ttl\r\n:1\r\n$1\r\na\r\n"}

// TestValuesAreReadAsTheyAreWritten parses each kind of value, alone and followed by a value of each kind. A value
// that is cut off at any point must be reported as incomplete.
func TestValuesAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range values {
		for _, behind := range append(values, "") {
			b := []byte(text + behind)
			if n := Size(b); n != len(text) {
				t.Errorf("%q takes %d bytes, not %d", b, n, len(text))
			}
			v, rest := Parse(b)
			if got := string(v.Append(nil)); got != text || string(rest) != behind {
				t.Errorf("%q is read as %q, and %q follows", b, got, rest)
			}
		}
		for cut := range text {
			if n := Size([]byte(text[:cut])); n != 0 {
				t.Errorf("%q is whole after %d bytes", text[:cut], n)
			}
		}
	}
	all := strings.Join(values, "")
	if n := Size([]byte(fmt.Sprintf("*%d\r\n%s", len(values)+1, all))); n != 0 {
		t.Errorf("a list is whole without its last value, of %d bytes", n)
	}
}

// TestValuesSayWhatTheyAre checks that a parsed value has the right kind and text, and that it is recognized as null,
// an error or a number.
func TestValuesSayWhatTheyAre(t *testing.T) {
	for text, want := range map[string]Value{
		"$-1\r\n":      {Kind: '$', Null: true},
		"*-1\r\n":      {Kind: '*', Null: true},
		"_\r\n":        {Kind: '_', Null: true},
		":12\r\n":      {Kind: ':', Text: "12"},
		"$2\r\n12\r\n": {Kind: '$', Text: "12"},
		"-ERR\r\n":     {Kind: '-', Text: "ERR"},
	} {
		v, _ := Parse([]byte(text))
		if v.Kind != want.Kind || v.Null != want.Null || v.Text != want.Text ||
			v.IsError() != (text[0] == '-') || v.Number() == 12 != strings.Contains(text, "12") {
			t.Errorf("%q is %+v", text, v)
		}
	}
	v, _ := Parse([]byte("%1\r\n+a\r\n:1\r\n"))
	if got := strings.Join(v.Texts(), " "); got != "a 1" {
		t.Errorf("a map holds %s", got)
	}
}
