package reports

import (
	"embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
)

//go:embed page
var pageFiles embed.FS

// pages are the templates of all pages. In them "says" is the sentence of a law, by which its name is explained.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"says": func(law string) string { return checker.Law(law).Says() },
}).ParseFS(pageFiles, "page/*.html"))

// pageFrame is what all pages have in common: the title, how they look, and the script that explains words and copies
// commands.
type pageFrame struct {
	Title  string
	Style  template.CSS
	Script template.JS
}

// newFrame makes a frame with further style sheets and scripts of a page.
func newFrame(title string, parts ...string) (pageFrame, error) {
	f := pageFrame{Title: title}
	for _, name := range append([]string{"page.css", "frame.js"}, parts...) {
		text, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			return f, fmt.Errorf("a part of the page is missing: %w", err)
		}
		if strings.HasSuffix(name, ".css") {
			f.Style += template.CSS(text)
		} else {
			f.Script += template.JS(text)
		}
	}
	return f, nil
}
