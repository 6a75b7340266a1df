package html

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// hostile lists strings that could be mistaken for markup or for parts of an address.
var hostile = []string{`"><img src=x>`, `' onclick='x`, "</title></style></script><script>x</script>", "<!-- x",
	"&lt;", "&amp;#60;b>", "javascript:x", "http://x/y", "//x/y", "../x", "x?y#z", "50%41", "a:b", "a b+c",
	"a\rb\nc", "\x1b[2J", "\u202e", "é"}

// TestTextStaysText checks that hostile strings are shown as text when they are used as the title, as text and in an
// attribute of a page.
func TestTextStaysText(t *testing.T) {
	for _, text := range hostile {
		p := NewWriter(text, "")
		p.Put(El("p", Class(text), Text(text)))
		p.Card(text, func() {})
		var b strings.Builder
		if err := p.WriteDocument(&b); err != nil {
			t.Fatal(err)
		}
		page, err := html.Parse(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]string{}
		for n := range page.Descendants() {
			if n.Type == html.TextNode {
				read[n.Parent.Data] += n.Data
			}
			if n.Data == "p" {
				read["class"] = n.Attr[0].Val
			}
			if n.Data == "img" || len(n.Attr) > 3 {
				t.Errorf("%q became %+v", text, n)
			}
		}
		for _, in := range []string{"title", "p", "class", "h2"} {
			if want := history.Printable(text); read[in] != want {
				t.Errorf("%s: %q, want %q", in, read[in], want)
			}
		}
		if n := strings.Count(b.String(), "<script"); n != 1 {
			t.Errorf("%q: %d scripts", text, n)
		}
	}
}

// TestAnAddressNamesAFileBeside checks that the link from a page to another page in the same folder leads to that
// page's file, no matter what the file is called.
func TestAnAddressNamesAFileBeside(t *testing.T) {
	page := &url.URL{Scheme: "file", Path: "/folder/page.html"}
	for _, name := range hostile {
		if strings.Contains(name, "/") {
			continue // this cannot be the name of a file
		}
		address := NewWriter("", "/folder/"+name+".html").Beside("slug")
		to, err := page.Parse(address)
		if want := "/folder/" + name + "-slug.html"; err != nil || to.Scheme != "file" || to.Path != want ||
			to.RawQuery+to.Fragment != "" {
			t.Errorf("%q leads to %q, want %q: %v", address, to, want, err)
		}
	}
}
