package history

import (
	"fmt"

	"olympos.io/encoding/edn"
)

// Tags that replace the braces of maps and sets. They make the library read the contents as vectors and keep repeated
// elements.
const (
	mapTag = "fencepost/map"
	setTag = "fencepost/set"
)

// repeated returns an error for the first key that occurs twice in a map, or the first element that occurs twice in a
// set. The EDN library would silently keep one of the two.
func (p *parser) repeated(text []byte) error {
	var v any
	if err := p.unmarshal(withoutBraces(text), &v); err != nil {
		return err
	}
	return repeatedIn(v)
}

// withoutBraces returns text with all maps and sets rewritten as vectors with mapTag or setTag.
func withoutBraces(text []byte) []byte {
	var to []byte
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == ';':
			end := min(afterQuoted(text, i), len(text))
			to = append(to, text[i:end]...)
			i = end
		case c == '\\' && i+1 < len(text):
			to = append(to, text[i:i+2]...)
			i += 2
		case c == '#' && i+1 < len(text) && text[i+1] == '{':
			to = append(to, " #"+setTag+" ["...)
			i += 2
		case c == '{':
			to = append(to, " #"+mapTag+" ["...)
			i++
		case c == '}':
			to = append(to, ']')
			i++
		default:
			to = append(to, c)
			i++
		}
	}
	return to
}

func repeatedIn(v any) error {
	var list []any
	step := 1
	switch v := v.(type) {
	case []any:
		list, step = v, 0
	case edn.Tag:
		inside, vector := v.Value.([]any)
		if !vector || v.Tagname != mapTag && v.Tagname != setTag {
			return repeatedIn(v.Value)
		}
		if list = inside; v.Tagname == mapTag {
			step = 2
		}
	}
	seen := map[string]bool{}
	for i, x := range list {
		if err := repeatedIn(x); err != nil {
			return err
		}
		if step == 0 || i%step > 0 {
			continue
		}
		name := plain(x)
		if seen[name] && step == 2 {
			return fmt.Errorf("key %s occurs twice", name)
		} else if seen[name] {
			return fmt.Errorf("%s occurs twice in a set", name)
		}
		seen[name] = true
	}
	return nil
}
