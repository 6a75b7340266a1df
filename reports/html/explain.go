package html

import "github.com/fencepost-sim/fencepost/checker"

// Explained is a word with what explains it, which may be empty.
func Explained(word, explanation string) Part {
	if explanation == "" {
		return Text(word)
	}
	return El("button", Attr("type", "button", "class", "says", "title", explanation), Text(word))
}

// Law is a name, explained if it is that of a law.
func Law(name string) Part { return Explained(name, checker.Law(name).Says()) }

// Heading stands over what follows.
func Heading(words string) Part { return All(El("h2", Law(words)), Newline) }

// Note is a thing to know, with its name, which may be empty.
func Note(name, words string) Part {
	return All(El("p", Class("note"), El("b", Text(name)), Text(" "+words)), Newline)
}

// Finding explains the violation of a law, but for its witness.
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
