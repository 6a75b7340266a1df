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

// inline yields a page's inline scripts and styles, each with its element's name.
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

// Protect calls write to write a page, and adds a content security policy to the page. The policy allows the browser to
// use only the scripts and styles that are now in the page, and to load nothing. It identifies them by their hashes
// (Content Security Policy Level 3, 2.3.1). Unprintable characters are replaced with escapes. Errors come from write or
// from w.
func Protect(w io.Writer, write func(io.Writer) error) error {
	var page strings.Builder
	if err := write(&page); err != nil {
		return err
	}
	return protect(w, page.String(), "")
}

// protect is like Protect, but takes the page as a string and appends additional directives to its content security
// policy, which can allow the page to do more. Errors come from w.
func protect(w io.Writer, page, directives string) error {
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
		`style-src %s; base-uri 'none'; form-action 'none'%s"/>`, allowed(sums["script"]), allowed(sums["style"]),
		directives)
	text = strings.Replace(text, "<head>", "<head>\n"+policy, 1)
	_, err := io.WriteString(w, text)
	return err
}

// allowed returns the list of allowed sources for a policy directive.
func allowed(sums []string) string {
	if len(sums) == 0 {
		return "'none'"
	}
	return strings.Join(sums, " ")
}
