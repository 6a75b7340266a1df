// Package html contains what all HTML pages need: functions that build their markup, the frame that all pages share,
// the theme, and the script that explains words and copies commands.
//
// Goals: a page is a single file that does not load anything and can be read without its script; text is never treated
// as markup. Non-goals: the content of a page, which the reports decide, and pictures, which packages timeline and
// sweep draw.
package html

import (
	_ "embed" // for the files that pages are made of
	"io"
)

var (
	//go:embed page.css
	pageStyle string
	//go:embed frame.js
	frameScript string

	// GridStyle is the style sheet for grids and diffs.
	//
	//go:embed grid.css
	GridStyle string
	// PlotStyle is the style sheet for plots.
	//
	//go:embed plot.css
	PlotStyle string
)

// Application is an interactive page. Its script asks a server or a worker for the data that it shows.
type Application struct {
	Title  string
	Style  string // style sheet in addition to the one that all pages have
	Script string
	Body   string // markup of the body
	// Policy lists additional directives for the content security policy, such as "connect-src 'self'". A page needs
	// them if it does more than show its own content.
	Policy string
}

// Write writes the page. Errors come from w.
func (a *Application) Write(w io.Writer) error {
	frame := newFrame(a.Title)
	frame.style += a.Style
	frame.script += a.Script
	return protect(w, frame.enclose(Raw(a.Body)), "; "+a.Policy)
}

// frame contains the parts that all pages share: a title, a style sheet, and the script that explains words and copies
// commands.
type frame struct{ title, style, script string }

func newFrame(title string) frame { return frame{title, pageStyle, frameScript} }

// enclose returns a page with the given body.
func (f *frame) enclose(body Part) string {
	return render(Raw("<!DOCTYPE html>\n"), El("html", Attr("lang", "en"), Newline,
		El("head", Newline,
			El("meta", Attr("charset", "utf-8")), Newline,
			El("meta", Attr("name", "viewport", "content", "width=device-width, initial-scale=1")), Newline,
			El("title", Text(f.title)), Newline,
			El("style", Raw(f.style)), Newline), Newline,
		El("body", Newline,
			body,
			El("div", Attr("id", "tip", "role", "tooltip", "hidden", "hidden")), Newline,
			El("script", Raw(f.script)), Newline), Newline), Newline)
}
