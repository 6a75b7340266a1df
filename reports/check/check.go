// Package check holds what every page and every text of a report keeps to, for the tests of the rooms that write them.
//
// Goals: one reading of a page, of a law's explanation, of a command that is pasted.
// Non-goals: what a report says.
package check

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
)

var (
	script    = regexp.MustCompile(`(?s)<script>.*?</script>`)
	namespace = regexp.MustCompile(`\sxmlns(:\w+)?="[^"]*"`) // an address that only names what stands in a picture
	loads     = regexp.MustCompile(
		`(?i)(?:href|src|action)="?https?:|\ssrc=|<link|@import|url\((?:[^#)]|#[^a-z])|<iframe|fetch\(|XMLHttp`)
	continued = regexp.MustCompile(`'\\\n'|\\\n *`) // where a shell joins two lines
)

// Page says what is wrong with a page: that it loads something, or is no well-formed XML but for its script.
func Page(text string) error {
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

// Explained is how many laws a page names, each with its sentence beside the name. It is an error if one has none.
func Explained(text string) (n int, err error) {
	for _, law := range checker.Laws {
		named := strings.Contains(text, ">"+string(law)+"<")
		says := strings.Contains(text, `title="`+html.EscapeString(law.Says())+`">`+string(law)+`</button>`)
		if named != says {
			err = errors.Join(err, fmt.Errorf("it names %s: %t, explains it: %t", law, named, says))
		}
		if says {
			n++
		}
	}
	return n, err
}

// Pasted is how often a command stands in a text such that a shell takes it, also over several lines.
func Pasted(text, call string) int {
	return strings.Count(continued.ReplaceAllString(text, ""), call)
}
