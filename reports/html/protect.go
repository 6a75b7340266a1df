package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// inline are a page's scripts and styles.
var inline = regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)

// Protect writes what write does, a page, such that a browser runs and obeys nothing in it but the scripts and styles
// that the page was made with, and loads nothing at all: its content security policy names them by their sums
// (Content Security Policy Level 3, 2.3.1). Characters that are not to be shown are written as escapes. The error is
// that of either writing.
func Protect(w io.Writer, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	text := history.Printable(b.String())
	sums := map[string][]string{}
	for _, part := range inline.FindAllStringSubmatch(text, -1) {
		sum := sha256.Sum256([]byte(part[2]))
		name := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !slices.Contains(sums[part[1]], name) {
			sums[part[1]] = append(sums[part[1]], name)
		}
	}
	policy := fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; `+
		`style-src %s; base-uri 'none'; form-action 'none'"/>`, allowed(sums["script"]), allowed(sums["style"]))
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
