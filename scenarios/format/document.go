package format

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Document is a scenario's text as an editable tree. Keys can be set and removed, and the whole document can be printed
// again. Values stay the same, but comments and the layout are lost. The scenario need not be valid: scenarios.Parse
// checks it.
type Document struct{ root tree }

// tree is a scalar, a mapping or a list.
type tree struct {
	sort    treeSort
	scalar  string
	entries []entry // for a mapping, in order
	items   []tree  // for a list
}

type treeSort uint8

const (
	isScalar treeSort = iota
	isMapping
	isList
)

type entry struct {
	key   string
	value tree
}

// ParseDocument parses text made up of plain YAML mappings, lists and scalars. Errors refer to the text as path, and
// are of type *Error.
func ParseDocument(path string, text []byte) (*Document, error) {
	r, body, err := Read(path, text)
	if err != nil {
		return nil, err
	}
	d := &Document{r.tree(body)}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

// tree converts a YAML node to a tree.
func (r *Reader) tree(n ast.Node) tree {
	switch node := n.(type) {
	case *ast.LiteralNode:
		text, _ := r.Prose(node)
		return tree{scalar: strings.Join(strings.Fields(text), " ")}
	case *ast.SequenceNode:
		t := tree{sort: isList}
		for _, v := range node.Values {
			t.items = append(t.items, r.tree(v))
		}
		return t
	case ast.MapNode:
		t := tree{sort: isMapping}
		r.Entries(n, "the file", "", func(key string, _ Place, value ast.Node) {
			t.entries = append(t.entries, entry{key, r.tree(value)})
		})
		return t
	default:
		text, ok := ScalarText(n)
		if !ok {
			r.Problem(StartOf(n), "", "expected a value, found %s", describe(n))
		}
		return tree{scalar: text}
	}
}

// Clone returns a deep copy of the document.
func (d *Document) Clone() *Document { return &Document{d.root.clone()} }

func (t tree) clone() tree {
	t.entries, t.items = slices.Clone(t.entries), slices.Clone(t.items)
	for i := range t.entries {
		t.entries[i].value = t.entries[i].value.clone()
	}
	for i := range t.items {
		t.items[i] = t.items[i].clone()
	}
	return t
}

// Get returns the scalar at a path such as "lock.ttl". In a path, list entries are numbered from 1: "faults.2".
func (d *Document) Get(path string) (string, bool) {
	t := d.root.at(strings.Split(path, "."))
	if t == nil || t.sort != isScalar {
		return "", false
	}
	return t.scalar, true
}

// Keys returns the keys of the mapping at a path, or nil if there is no mapping. The empty path stands for the whole
// document.
func (d *Document) Keys(path string) []string {
	var keys []string
	t := &d.root
	if path != "" {
		t = t.at(strings.Split(path, "."))
	}
	if t != nil {
		for _, e := range t.entries {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// List returns the scalars of the list at a path, or nil if there is no list.
func (d *Document) List(path string) []string {
	var list []string
	if t := d.root.at(strings.Split(path, ".")); t != nil {
		for _, item := range t.items {
			list = append(list, item.scalar)
		}
	}
	return list
}

func (t *tree) at(path []string) *tree {
	for _, key := range path {
		if t = t.child(key); t == nil {
			return nil
		}
	}
	return t
}

// child returns the value of the given key, or the list entry with the given number (from 1). It returns nil if there
// is none.
func (t *tree) child(key string) *tree {
	for i := range t.entries {
		if t.entries[i].key == key {
			return &t.entries[i].value
		}
	}
	if n, err := strconv.Atoi(key); err == nil && n >= 1 && n <= len(t.items) {
		return &t.items[n-1]
	}
	return nil
}

// Set writes a scalar at a path, and creates any missing mappings on the way. A scalar on the way is replaced with a
// mapping. List entries on the path must exist.
func (d *Document) Set(path, scalar string) { d.put(path, tree{scalar: scalar}) }

// SetList writes a list of scalars at a path, in the same way as Set.
func (d *Document) SetList(path string, scalars []string) {
	list := tree{sort: isList}
	for _, s := range scalars {
		list.items = append(list.items, tree{scalar: s})
	}
	d.put(path, list)
}

func (d *Document) put(path string, value tree) {
	t := &d.root
	for _, key := range strings.Split(path, ".") {
		next := t.child(key)
		if next == nil {
			if t.sort != isMapping {
				*t = tree{sort: isMapping}
			}
			t.entries = append(t.entries, entry{key: key})
			next = &t.entries[len(t.entries)-1].value
		}
		t = next
	}
	*t = value
}

// Remove removes a key or a list entry, along with any mappings and lists that become empty.
func (d *Document) Remove(path string) { d.root.remove(strings.Split(path, ".")) }

func (t *tree) remove(path []string) {
	child := t.child(path[0])
	if child == nil {
		return
	}
	if len(path) > 1 {
		if child.remove(path[1:]); len(child.entries)+len(child.items) > 0 || child.sort == isScalar {
			return
		}
	}
	t.entries = slices.DeleteFunc(t.entries, func(e entry) bool { return e.key == path[0] })
	if n, err := strconv.Atoi(path[0]); err == nil && t.sort == isList {
		t.items = slices.Delete(t.items, n-1, n)
	}
}

// Rename renames the last key in a path. The mapping that contains the key must exist.
func (d *Document) Rename(path, name string) {
	keys := strings.Split(path, ".")
	last := len(keys) - 1
	t := d.root.at(keys[:last])
	for i := range t.entries {
		if t.entries[i].key == keys[last] {
			t.entries[i].key = name
		}
	}
}

// Arrange sorts the top-level keys in the given order.
func (d *Document) Arrange(order []string) {
	slices.SortStableFunc(d.root.entries,
		func(a, b entry) int { return slices.Index(order, a.key) - slices.Index(order, b.key) })
}

// widest is the length in bytes above which String writes a mapping, a list or a top-level text on several lines.
const widest = 110

// String prints the document as YAML. A value that fits on one line is written on one line, except for top-level lists
// and for the mappings "expect" and "overrides".
func (d *Document) String() string {
	var b strings.Builder
	d.root.print(&b, "")
	return b.String()
}

// print writes a mapping with one key per line.
func (t *tree) print(b *strings.Builder, indent string) {
	for _, e := range t.entries {
		b.WriteString(indent + Quoted(e.key, true) + ":")
		line := e.value.flow()
		fits := len(indent)+len(e.key)+2+len(line) <= widest
		switch {
		case e.value.sort == isScalar:
			b.WriteString(" " + e.value.line(len(e.key), indent) + "\n")
		case e.value.sort == isList && len(e.value.items) > 0 && (indent == "" || !fits):
			b.WriteString("\n")
			for _, item := range e.value.items {
				b.WriteString(indent + "  - " + item.inList() + "\n")
			}
		case fits && (indent != "" || len(e.value.entries) == 0 || e.key != "expect" && e.key != "overrides"):
			b.WriteString(" " + line + "\n")
		default:
			b.WriteString("\n")
			e.value.print(b, indent+"  ")
		}
	}
}

// line formats a key's scalar. Prose that is too long for one line is folded onto several.
func (t *tree) line(key int, indent string) string {
	words := strings.Fields(t.scalar)
	if indent != "" || key+2+len(t.scalar) <= widest || strings.Join(words, " ") != t.scalar {
		return Quoted(t.scalar, false)
	}
	text, column := ">-", widest
	for _, word := range words {
		if column += 1 + len(word); column > widest {
			text, column = text+"\n  "+word, 2+len(word)
		} else {
			text += " " + word
		}
	}
	return text
}

func (t *tree) inList() string {
	if t.sort == isScalar {
		return Quoted(t.scalar, false)
	}
	return t.flow()
}

// flow formats a value on one line.
func (t *tree) flow() string {
	var parts []string
	switch t.sort {
	case isScalar:
		return Quoted(t.scalar, true)
	case isMapping:
		for _, e := range t.entries {
			parts = append(parts, Quoted(e.key, true)+": "+e.value.flow())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		for _, item := range t.items {
			parts = append(parts, item.flow())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
}

// Quoted returns a scalar as YAML text. It adds quotes if YAML would otherwise read the scalar as something else.
// inside says whether the text will be between { } or [ ]. Quoted prefers single quotes, which don't need escapes.
func Quoted(s string, inside bool) string {
	plain := s != "" && s == strings.TrimSpace(s) && !strings.ContainsAny(s[:1], "-?:,[]{}#&*!|>'\"%@`\\") &&
		!strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") &&
		!strings.ContainsFunc(s, history.Unprintable)
	escaped := strings.ContainsAny(s, `\"`)
	if plain && s != "null" && s != "~" && !(inside && (escaped || strings.ContainsAny(s, ",[]{}"))) {
		return s
	}
	if escaped && !strings.Contains(s, "'") && !strings.ContainsFunc(s, history.Unprintable) {
		return "'" + s + "'"
	}
	return strconv.Quote(s)
}
