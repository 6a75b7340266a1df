package html

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Part adds attributes, text, other elements, or several of these to an element.
type Part func(in *html.Node)

// El returns an element.
func El(name string, parts ...Part) Part {
	return func(in *html.Node) {
		e := &html.Node{Type: html.ElementNode, Data: name}
		All(parts...)(e)
		in.AppendChild(e)
	}
}

// All combines several parts into one.
func All(parts ...Part) Part {
	return func(in *html.Node) {
		for _, part := range parts {
			part(in)
		}
	}
}

// Each calls render for each element of a list and returns the results as one part.
func Each[T any](list []T, render func(T) Part) Part {
	return func(in *html.Node) {
		for _, one := range list {
			render(one)(in)
		}
	}
}

// If returns the parts if the condition is true, and otherwise an empty part.
func If(condition bool, parts ...Part) Part {
	if !condition {
		return All()
	}
	return All(parts...)
}

// Attr returns attributes. pairs alternates between names and values. Values are formatted as by fmt.Print. Attr and
// Text replace unprintable characters with escapes.
func Attr(pairs ...any) Part {
	return func(in *html.Node) {
		in.Attr = slices.Grow(in.Attr, len(pairs)/2)
		for i := 0; i < len(pairs); i += 2 {
			value := history.Printable(fmt.Sprint(pairs[i+1]))
			in.Attr = append(in.Attr, html.Attribute{Key: pairs[i].(string), Val: value})
		}
	}
}

// Class returns a class attribute.
func Class(names string) Part { return Attr("class", names) }

// Text returns text with any markup escaped.
func Text(words string) Part {
	return func(in *html.Node) {
		in.AppendChild(&html.Node{Type: html.TextNode, Data: history.Printable(words)})
	}
}

// Raw returns markup, which is written unchanged.
func Raw(markup string) Part {
	return func(in *html.Node) { in.AppendChild(&html.Node{Type: html.RawNode, Data: markup}) }
}

// Newline is a line break in a page's source. It keeps the lines short.
var Newline = Text("\n")

// render returns the parts as markup.
func render(parts ...Part) string {
	root, b := &html.Node{Type: html.DocumentNode}, &strings.Builder{}
	All(parts...)(root)
	if err := html.Render(b, root); err != nil {
		panic(err) // possible only if an element that must be empty, such as <br>, has content
	}
	return b.String()
}
