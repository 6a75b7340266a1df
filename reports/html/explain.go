package html

import "github.com/fencepost-sim/fencepost/checker"

// Explained returns a word with an explanation that the page shows on demand. If the explanation is empty, it returns
// plain text.
func Explained(word, explanation string) Part {
	if explanation == "" {
		return Text(word)
	}
	return El("button", Attr("type", "button", "class", "says", "title", explanation), Text(word))
}

// Law returns a name as HTML. If it is the name of a law, the HTML includes an explanation of the law.
func Law(name string) Part { return Explained(name, checker.Law(name).Says()) }

// Heading returns a section heading.
func Heading(words string) Part { return All(El("h2", Law(words)), Newline) }

// Note returns a remark that begins with a name in bold. The name may be empty.
func Note(name, words string) Part {
	return All(El("p", Class("note"), El("b", Text(name)), Text(" "+words)), Newline)
}

// Finding explains how a law was violated, but does not show the witness.
func Finding(f *checker.Finding) Part {
	paragraph := func(class, words string) Part {
		return If(words != "", El("p", Class(class), Text(words)), Newline)
	}
	return All(
		El("h2", El("span", Class("law"), Law(string(f.Law))), Text(" "+f.Cause.String())), Newline,
		El("p", Text(f.Explanation)), Newline,
		paragraph("judges", f.Judges.String()),
		Each(f.Trials, func(t checker.Trial) Part { return paragraph("trial", t.String()) }),
		If(f.Remedy != "", El("p", Class("remedy"), El("b", Text("Remedy")), Text(" "+f.Remedy))), Newline)
}
