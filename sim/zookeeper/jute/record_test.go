package jute

import (
	"bytes"
	"fmt"
	"testing"
)

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	r := Record(nil).Int(-7).Long(1 << 40).Flag(true).Text("ä").Null().Texts([]string{"a", ""}).Null()
	f := Fields{Rest: r}
	n, l, is, text := f.Int(), f.Long(), f.Flag(), f.Text()
	_, null := f.Buffer()
	if got := fmt.Sprint(n, l, is, text, null, f.Texts(), f.Texts(), f.Rest, f.Torn); got !=
		fmt.Sprint(-7, 1<<40, true, "ä", true, []string{"a", ""}, []string{}, []byte{}, false) {
		t.Error(got)
	}
	for n := range r {
		f := Fields{Rest: r[:n]}
		f.Int()
		f.Long()
		f.Flag()
		f.Text()
		f.Buffer()
		f.Texts()
		if f.Texts(); !f.Torn {
			t.Errorf("%d bytes of %d are not torn", n, len(r))
		}
	}
}

// FuzzFields checks that a server never fails or reads beyond the end of the record, whatever bytes a client sends.
func FuzzFields(f *testing.F) {
	f.Add([]byte("\xff\xff\xff\xfe"))
	f.Add([]byte("\x7f\xff\xff\xff\x00\x00\x00\x01a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		x := Fields{Rest: bytes.Clone(b)}
		if list := x.Texts(); len(list) > len(b) {
			t.Errorf("%d strings of %d bytes", len(list), len(b))
		}
		ReadConnect(b)
		if _, rest, whole, sound := Cut(b); whole && sound && len(rest) >= len(b) {
			t.Error("nothing was cut")
		}
	})
}
