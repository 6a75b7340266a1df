package reports

import "strings"

// probeIs explains the probe wherever it is mentioned.
const probeIs = "a last client, which asks for each lock once the faults and the work are over, to see whether anybody can still get it"

// mentionsProbe reports whether a text speaks of the probe.
func mentionsProbe(text string) bool { return strings.Contains(strings.ToLower(text), string(probe)) }

// closing explains the probe if it was mentioned, and says where the files are and what to paste to see it all again, as far as either is known.
func closing(p *page, files, repeat string) {
	if p.probe {
		p.hang(0, "probe   ", plain, probeIs)
		p.probe = false
	}
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
func command(p *page, text string) { commandAt(p, 0, again, text) }

// again is the label of a command that shows it all again.
const again = "again   "

// commandAt writes what a person pastes, after a label or without one, so it is never re-spaced. What does not fit on a line
// is broken before an argument with a backslash, which a shell takes back.
func commandAt(p *page, indent int, label, text string) {
	text = printable(text)
	if indent+len(label)+cells(text) <= p.width {
		p.put(new(line).to(indent).add(plain, label).add(bold, text))
		return
	}
	if label != "" {
		p.put(new(line).to(indent).add(plain, strings.TrimRight(label, " ")))
		indent += 2
	}
	ln, room := new(line).to(indent), p.width-2
	for i, arg := range arguments(text) {
		if i > 0 && ln.cells+cells(arg) > room {
			p.put(ln.add(bold, `\`))
			ln = new(line).to(indent + 2)
		}
		for ln.cells+cells(arg) > room { // continued at the very left: a space would split the argument
			head, rest := breakArgument(arg, room-ln.cells)
			p.put(ln.add(bold, head+`\`))
			ln, arg = new(line), rest
		}
		ln.add(bold, arg)
	}
	p.put(ln)
}

// breakArgument breaks an argument so that its beginning fits in the given cells, after a slash where there is one. Between
// single quotes a backslash would be one more character of it: there the quotes end and begin anew.
func breakArgument(arg string, width int) (head, rest string) {
	head = clip(arg, width-1) // room for a quote
	if i := strings.LastIndexByte(head, '/'); i > 0 {
		head = head[:i+1]
	}
	var q quoting
	for _, r := range head {
		q.pass(r)
	}
	if q.escaped {
		head = head[:len(head)-1]
	}
	switch {
	case q.open != '\'':
		return head, arg[len(head):]
	case head == "'":
		return "", arg
	}
	return head + "'", "'" + arg[len(head):]
}

// quoting follows a command as a shell reads it.
type quoting struct {
	open    rune // the quote within which the next character stands, 0 for none
	escaped bool // a backslash stands before it
}

func (q *quoting) pass(r rune) {
	switch {
	case q.escaped:
		q.escaped = false
	case r == '\\' && q.open != '\'':
		q.escaped = true
	case q.open == r:
		q.open = 0
	case q.open == 0 && (r == '\'' || r == '"'):
		q.open = r
	}
}

// arguments cuts a command before each argument; the spaces after one stay with it. Quotes are heeded.
func arguments(text string) []string {
	var out []string
	var q quoting
	begin, space := 0, false
	for i, r := range text {
		q.pass(r)
		if space && r != ' ' {
			out = append(out, text[begin:i])
			begin = i
		}
		space = q.open == 0 && r == ' '
	}
	return append(out, text[begin:])
}
