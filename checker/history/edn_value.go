package history

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"olympos.io/encoding/edn"
)

// PlainEDN returns the normal form of an EDN value. Two values that are equal by Clojure's = have the same normal form.
// The elements of maps and sets are sorted, and lists are written as vectors. If text is not exactly one EDN value, it
// is returned unchanged.
func PlainEDN(text string) string {
	v, ok := value(text)
	if !ok {
		return text
	}
	return plain(v)
}

// ElementsEDN returns the elements of a vector or a list, each in the normal form of PlainEDN. ok is false if text is
// neither.
func ElementsEDN(text string) (elements []string, ok bool) {
	v, _ := value(text)
	list, ok := v.([]any)
	for _, element := range list {
		elements = append(elements, plain(element))
	}
	return elements, ok
}

// value parses text, which must be exactly one EDN value.
func value(text string) (v any, ok bool) {
	var p parser
	if len(text) > maxForm || p.unmarshal([]byte(text), &v) != nil {
		return nil, false
	}
	if rest, err := io.ReadAll(p.in); err != nil || strings.TrimSpace(string(rest)) != "" {
		return nil, false
	}
	if err := p.repeated([]byte(text)); err != nil {
		return nil, false
	}
	return v, true
}

func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	case edn.Keyword:
		return ":" + string(v)
	case rune:
		return `\` + string(v)
	case []any:
		return joined("[", v, "]")
	case map[any]bool:
		var members []string
		for member := range v {
			members = append(members, plain(member))
		}
		return sorted("#{", members)
	case map[any]any:
		var pairs []string
		for key, value := range v {
			pairs = append(pairs, plain(key)+" "+plain(value))
		}
		return sorted("{", pairs)
	case edn.Tag:
		return "#" + v.Tagname + " " + plain(v.Value)
	}
	if text, ok := numberText(v); ok {
		return text
	}
	text, err := edn.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	return string(text)
}

func joined(open string, list []any, end string) string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = plain(list[i])
	}
	return open + strings.Join(texts, " ") + end
}

func sorted(open string, elements []string) string {
	slices.Sort(elements)
	return open + strings.Join(elements, " ") + "}"
}
