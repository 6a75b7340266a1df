package text

import "strings"

// Command writes a command that a person can paste, after a label if there is one. It preserves the spaces in the
// command. If the command does not fit on a line, it continues on the next line, and a backslash before the line break
// makes the shell join the lines.
func (p *Writer) Command(indent int, label, text string) {
	shift := p.shift // the rest of a broken argument must start in the first column
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
		for ln.cells+Cells(arg) > room { // continue in the first column: a space would split the argument
			head, rest := breakArgument(arg, room-ln.cells)
			p.Put(ln.Add(Bold, head+`\`))
			ln, arg = new(Line), rest
		}
		ln.Add(Bold, arg)
	}
	p.Put(ln)
}

// breakArgument splits an argument so that its first part fits into width cells. If possible, it splits after a slash.
// If the split is between single quotes, the first part closes the quotes and the rest opens them again, because a
// backslash between single quotes would be part of the argument.
func breakArgument(arg string, width int) (head, rest string) {
	head = Clip(arg, width-1) // leave room for a quote
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

// quoting tracks which characters in a command are quoted or escaped for the shell.
type quoting struct {
	open    rune // the kind of quotes that enclose the next character, or 0
	escaped bool // whether a backslash precedes the next character
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

// arguments splits a command before each argument. The spaces after an argument remain attached to it. Spaces inside
// quotes do not split the command.
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

// ShellWord quotes a word for a shell if necessary.
func ShellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
