package reports

import "strings"

// closing says where the files are and what to paste to see it all again, as far as either is known.
func closing(p *page, files, repeat string) {
	if files != "" {
		p.hang(0, "files   ", plain, files)
	}
	if repeat != "" {
		command(p, repeat)
	}
}

// notes writes each note on a line of its own, with the label before it.
func notes(p *page, label string, list []string) {
	for _, note := range list {
		p.hang(0, label, yellow, note)
	}
}

// command writes what a person pastes.
func command(p *page, text string) { commandAt(p, 0, text) }

// commandAt writes what a person pastes, so it is never re-spaced. What does not fit on a line is broken before an
// argument with a backslash, which a shell takes back.
func commandAt(p *page, indent int, text string) {
	const label = "again   "
	text = printable(text)
	if indent+len(label)+cells(text) <= p.width {
		p.put(new(line).to(indent).add(plain, label).add(bold, text))
		return
	}
	p.put(new(line).to(indent).add(plain, strings.TrimRight(label, " ")))
	ln, room := new(line).to(indent+2), p.width-2
	for i, arg := range arguments(text) {
		if i > 0 && ln.cells+cells(arg) > room {
			p.put(ln.add(bold, `\`))
			ln = new(line).to(indent + 4)
		}
		for ln.cells+cells(arg) > room { // continued at the very left: a space would split the argument
			head := clip(arg, room-ln.cells)
			p.put(ln.add(bold, head+`\`))
			ln, arg = new(line), arg[len(head):]
		}
		ln.add(bold, arg)
	}
	p.put(ln)
}

// arguments cuts a command before each argument; the spaces after one stay with it. Quotes are heeded.
func arguments(text string) []string {
	var out []string
	var quote rune
	begin, space := 0, false
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		}
		if space && r != ' ' {
			out = append(out, text[begin:i])
			begin = i
		}
		space = quote == 0 && r == ' '
	}
	return append(out, text[begin:])
}
