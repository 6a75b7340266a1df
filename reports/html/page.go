// Package html holds how the HTML pages look: the words of which their markup is made, the frame that all share, the
// theme, and the script that explains words and copies commands.
//
// Goals: a page is one file that loads nothing and can be read without its script; text never becomes markup.
// Non-goals: what a page says, which its report fills in, and pictures: timeline and sweep draw them.
package html

import (
	_ "embed" // the parts of the pages
	"io"
)

var (
	//go:embed page.css
	pageStyle string
	//go:embed frame.js
	frameScript string

	// GridStyle is the style sheet of grids and of diffs.
	//go:embed grid.css
	GridStyle string
	// PlotStyle is the style sheet of plots.
	//go:embed plot.css
	PlotStyle string
)

// Application is a page that lives: its script asks a server or a worker for what it shows.
type Application struct {
	Title  string
	Style  string // beside that of all pages
	Script string
	Body   string // markup
	// Policy are the directives by which the page may do more than show itself: "connect-src 'self'".
	Policy string
}

// Write writes the page. The error is w's.
func (a *Application) Write(w io.Writer) error {
	frame := newFrame(a.Title)
	frame.style += a.Style
	frame.script += a.Script
	return protect(w, frame.around(Raw(a.Body)), "; "+a.Policy)
}

// frame is what all pages have in common: the title, how they look, and the script that explains words and copies
// commands.
type frame struct{ title, style, script string }

func newFrame(title string) frame { return frame{title, pageStyle, frameScript} }

// around is the page with that body.
func (f *frame) around(body Part) string {
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
