package text

import "strings"

// Command writes what a person pastes, after a label or without one, so it is never re-spaced. What does not fit on a
// line is broken before an argument with a backslash, which a shell takes back.
func (p *Writer) Command(indent int, label, text string) {
	shift := p.shift // an argument may go on at the very left
	p.Indent(-shift, func() { p.command(shift+indent, label, Printable(text)) })
}

func (p *Writer) command(indent int, label, text string) {
	if indent+len(label)+Cells(text) <= p.width {
		p.Put(new(Line).To(indent).Add(Plain, label).Add(Bold, text))
		return
	}
	if label != "" {
		p.Put(new(Line).To(indent).Add(Plain, strings.TrimRight(label, " ")))
		indent += 2
	}
	ln, room := new(Line).To(indent), p.width-2
	for i, arg := range arguments(text) {
		if i > 0 && ln.cells+Cells(arg) > room {
			p.Put(ln.Add(Bold, `\`))
			ln = new(Line).To(indent + 2)
		}
		for ln.cells+Cells(arg) > room { // continued at the very left: a space would split the argument
			head, rest := breakArgument(arg, room-ln.cells)
			p.Put(ln.Add(Bold, head+`\`))
			ln, arg = new(Line), rest
		}
		ln.Add(Bold, arg)
	}
	p.Put(ln)
}

// breakArgument breaks an argument so that its beginning fits in the given cells, after a slash where there is one.
// Between single quotes a backslash would be one more character of it: there the quotes end and begin anew.
func breakArgument(arg string, width int) (head, rest string) {
	head = Clip(arg, width-1) // room for a quote
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
