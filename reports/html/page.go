// Package html holds how the HTML pages look: the frame that all share, the theme, the script that explains words and
// copies commands, and the template of each command's page.
//
// Goals: a page is one file that loads nothing and can be read without its script.
// Non-goals: what a page says, which its report fills in, and pictures: timeline and sweep draw them.
package html

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/fencepost-sim/fencepost/checker"
)

//go:embed *.html *.css *.js
var files embed.FS

// templates are those of all pages. In them "says" is the sentence of a law, by which its name is explained.
// Most commands write no page, and do not wait for them to be parsed.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"says": func(law any) string { return checker.Law(fmt.Sprint(law)).Says() },
		"inc":  func(n int) int { return n + 1 },
	}).ParseFS(files, "*.html"))
})

// write writes a page by the template of that name. The error is w's, or that data lacks what the template shows.
func write(w io.Writer, name string, data any) error {
	return Protect(w, func(w io.Writer) error { return templates().ExecuteTemplate(w, name, data) })
}

// Application is a page that lives: its script asks a server or a worker for what it shows.
type Application struct {
	Title  string
	Style  template.CSS // beside that of all pages
	Script template.JS
	Body   template.HTML
	// Policy are the directives by which the page may do more than show itself: "connect-src 'self'".
	Policy string
}

// Write writes the page. The error is w's.
func (a *Application) Write(w io.Writer) error {
	common, err := newFrame(a.Title)
	if err != nil {
		return err
	}
	common.Style += a.Style
	common.Script += a.Script
	return protect(w, "; "+a.Policy, func(w io.Writer) error {
		return templates().ExecuteTemplate(w, "application.html", struct {
			frame
			Body template.HTML
		}{common, a.Body})
	})
}

// frame is what all pages have in common: the title, how they look, and the script that explains words and copies
// commands. What a template shows has it as a part.
type frame struct {
	Title  string
	Style  template.CSS
	Script template.JS
}

// newFrame makes a frame with further style sheets and scripts, which are files of this folder.
func newFrame(title string, parts ...string) (frame, error) {
	f := frame{Title: title}
	for _, name := range append([]string{"page.css", "frame.js"}, parts...) {
		text, err := files.ReadFile(name)
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
