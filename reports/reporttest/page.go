package reporttest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

var (
	script = regexp.MustCompile(`(?s)<script>.*?</script>`)
	// an address in an SVG image that is only a name and is never loaded
	namespace = regexp.MustCompile(`\sxmlns(:\w+)?="[^"]*"`)
	loads     = regexp.MustCompile(
		`(?i)(?:href|src|action)="?https?:|\ssrc=|<link|@import|url\((?:[^#)]|#[^a-z])|<iframe|fetch\(|XMLHttp`)
	inline    = regexp.MustCompile(`(?s)<(script|style)\b[^>]*>(.*?)</(?:script|style)>`)
	policies  = regexp.MustCompile(`<head>\s*<meta http-equiv="Content-Security-Policy" content="(default-src 'none';[^"]*)"/>`)
	forbidden = regexp.MustCompile(`(?i)<[^>]*\s(?:style|on[a-z]+)\s*=|href="?javascript:`)
	continued = regexp.MustCompile(`'\\\n'|\\\n *`) // a line break that a shell ignores
)

// Page returns an error if a page loads another resource, contains hidden characters, contains something that its
// content security policy forbids, or is not well-formed XML. Its script does not have to be well-formed.
func Page(text string) error {
	if err := safe(text); err != nil {
		return err
	}
	if found := loads.FindString(namespace.ReplaceAllString(text, "")); found != "" {
		return fmt.Errorf("it loads something: %q", found)
	}
	d := xml.NewDecoder(strings.NewReader(script.ReplaceAllString(text, "")))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// safe checks a page that shows text written by others, and returns an error that says what is wrong with it. The page
// must have a policy, which must come before all scripts and styles and contain the hash of each inline one. The page
// must not contain anything that such a policy forbids, such as style attributes, because browsers would ignore it. It
// must not contain hidden characters, either.
func safe(text string) error {
	hidden := func(c rune) bool { return c != '\n' && c != '\t' && history.Unprintable(c) }
	if i := strings.IndexFunc(text, hidden); i >= 0 {
		return fmt.Errorf("the page has a hidden character: %q", text[max(0, i-40):min(len(text), i+10)])
	}
	policy := policies.FindStringSubmatchIndex(text)
	if policy == nil {
		return errors.New("it has no policy")
	}
	for _, part := range inline.FindAllStringSubmatchIndex(text, -1) {
		name, content := text[part[2]:part[3]], text[part[4]:part[5]]
		sum := sha256.Sum256([]byte(content))
		source := fmt.Sprintf("%s-src [^;]*'sha256-%s'", name,
			regexp.QuoteMeta(base64.StdEncoding.EncodeToString(sum[:])))
		if allowed, err := regexp.MatchString(source, text[policy[2]:policy[3]]); err != nil || !allowed ||
			part[0] < policy[0] {
			return fmt.Errorf("its policy does not allow the %s %.60q: %w", name, content, err)
		}
	}
	if found := forbidden.FindString(inline.ReplaceAllString(text, "")); found != "" {
		return fmt.Errorf("its policy forbids %q", found)
	}
	return nil
}

// Explained returns the number of laws that a page names and explains. It returns an error if the page names a law
// without explaining it, or explains a law without naming it.
func Explained(text string) (n int, err error) {
	for _, law := range checker.Laws {
		named := strings.Contains(text, ">"+string(law)+"<")
		says := strings.Contains(text, `title="`+html.EscapeString(law.Says())+`">`+string(law)+`</button>`)
		if named != says {
			err = errors.Join(err, fmt.Errorf("the page must explain each law that it names, and no others: law %s, "+
				"named %t, explained %t", law, named, says))
		}
		if says {
			n++
		}
	}
	return n, err
}

// Pasted counts the occurrences of a command in a form that can be pasted into a shell. The command may extend over
// several lines.
func Pasted(text, call string) int {
	return strings.Count(continued.ReplaceAllString(text, ""), call)
}
