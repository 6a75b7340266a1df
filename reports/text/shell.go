package text

import "strings"

// Command writes a command for a person to paste, after a label if it has one. Its spaces are kept as they are. A
// command that does not fit on a line is continued on the next, with a backslash before the line break, as a shell
// allows.
func (p *Writer) Command(indent int, label, text string) {
	shift := p.shift // a continued argument must begin at the very left
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

// breakArgument splits an argument so that its beginning fits into width cells, after a slash if it has one. Between
// single quotes a backslash would be part of the argument; there, the first part closes the quotes and the rest opens
// them again.
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

// quoting tracks the quotes of a command as a shell reads it.
type quoting struct {
	open    rune // the quote within which the next character is, or 0
	escaped bool // a backslash precedes the next character
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

// arguments splits a command before each argument; the spaces after an argument stay with it. Spaces within quotes do
// not split it.
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
