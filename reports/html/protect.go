package html

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// inline gives a page's scripts and styles, each with the name of its element.
func inline(page string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for {
			script, style := strings.Index(page, "<script>"), strings.Index(page, "<style>")
			name, at := "script", script
			if script < 0 || style >= 0 && style < script {
				name, at = "style", style
			}
			if at < 0 {
				return
			}
			text, rest, whole := strings.Cut(page[at+len("<>")+len(name):], "</"+name+">")
			if !whole || !yield(name, text) {
				return
			}
			page = rest
		}
	}
}

// Protect writes what write does, a page, such that a browser runs and obeys nothing in it but the scripts and styles
// that the page was made with, and loads nothing at all: its content security policy names them by their sums
// (Content Security Policy Level 3, 2.3.1). Characters that are not to be shown are written as escapes. The error is
// that of either writing.
func Protect(w io.Writer, write func(io.Writer) error) error {
	var page strings.Builder
	if err := write(&page); err != nil {
		return err
	}
	return protect(w, page.String(), "")
}

// protect is Protect for a page that may do more, as directives of the policy say. The error is w's.
func protect(w io.Writer, page, more string) error {
	text := history.Printable(page)
	sums := map[string][]string{}
	for element, part := range inline(text) {
		sum := sha256.Sum256([]byte(part))
		name := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !slices.Contains(sums[element], name) {
			sums[element] = append(sums[element], name)
		}
	}
	policy := fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; `+
		`style-src %s; base-uri 'none'; form-action 'none'%s"/>`, allowed(sums["script"]), allowed(sums["style"]), more)
	text = strings.Replace(text, "<head>", "<head>\n"+policy, 1)
	_, err := io.WriteString(w, text)
	return err
}

// allowed lists the sources of a policy.
func allowed(sums []string) string {
	if len(sums) == 0 {
		return "'none'"
	}
	return strings.Join(sums, " ")
}
