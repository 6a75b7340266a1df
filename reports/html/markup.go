package html

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Part is something in an element: attributes, text, another element, or several of these.
type Part func(in *html.Node)

// El is an element.
func El(name string, parts ...Part) Part {
	return func(in *html.Node) {
		e := &html.Node{Type: html.ElementNode, Data: name}
		All(parts...)(e)
		in.AppendChild(e)
	}
}

// All are several parts, one after the other.
func All(parts ...Part) Part {
	return func(in *html.Node) {
		for _, part := range parts {
			part(in)
		}
	}
}

// Each are the parts for the elements of a list.
func Each[T any](list []T, part func(T) Part) Part {
	return func(in *html.Node) {
		for _, one := range list {
			part(one)(in)
		}
	}
}

// If is the parts if the condition is true, and nothing otherwise.
func If(condition bool, parts ...Part) Part {
	if !condition {
		return All()
	}
	return All(parts...)
}

// Attr are attributes, each a name and its value, which is written as fmt.Print does. Characters that are not to be
// shown are written as escapes, there and in Text.
func Attr(pairs ...any) Part {
	return func(in *html.Node) {
		in.Attr = slices.Grow(in.Attr, len(pairs)/2)
		for i := 0; i < len(pairs); i += 2 {
			value := history.Printable(fmt.Sprint(pairs[i+1]))
			in.Attr = append(in.Attr, html.Attribute{Key: pairs[i].(string), Val: value})
		}
	}
}

// Class is the attribute of that name.
func Class(names string) Part { return Attr("class", names) }

// Text is text, in which nothing is markup.
func Text(words string) Part {
	return func(in *html.Node) {
		in.AppendChild(&html.Node{Type: html.TextNode, Data: history.Printable(words)})
	}
}

// Raw is markup as it is.
func Raw(markup string) Part {
	return func(in *html.Node) { in.AppendChild(&html.Node{Type: html.RawNode, Data: markup}) }
}

// Newline keeps lines of the page's source short.
var Newline = Text("\n")

// render writes the parts as markup.
func render(parts ...Part) string {
	root, b := &html.Node{Type: html.DocumentNode}, &strings.Builder{}
	All(parts...)(root)
	if err := html.Render(b, root); err != nil {
		panic(err) // an element such as <br> has something in it
	}
	return b.String()
}
