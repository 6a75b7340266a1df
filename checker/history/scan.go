package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// scanner parses one line as a flat JSON object with strings, integers, booleans and lists of strings as its values. It
// exists because histories are long, and because encoding/json accepts repeated keys and keys in the wrong case.
type scanner struct {
	in    []byte
	at    int
	names *names
}

// names is a hash table of recently read strings. It lets equal strings share memory. If a name recurs, it usually does
// so soon.
type names [1 << 14]string

// longestName is the maximum length in bytes of a string in names.
const longestName = 64

// intern returns the bytes as a string. If an equal string was seen recently, it returns that string.
func (n *names) intern(raw []byte) string {
	if len(raw) > longestName {
		return string(raw)
	}
	hash := uint32(2166136261) // FNV-1a hash
	for _, c := range raw {
		hash = (hash ^ uint32(c)) * 16777619
	}
	seen := &n[(hash^hash>>16)%uint32(len(n))]
	if *seen != string(raw) {
		*seen = string(raw)
	}
	return *seen
}

// object calls field for each key in an object. Each time, the scanner is at the key's value.
func (s *scanner) object(field func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.at++
		return s.end()
	}
	for {
		key, err := s.str()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := field(key); err != nil {
			return err
		}
		if s.peek() == '}' {
			s.at++
			return s.end()
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

// peek skips blanks and returns the next byte, or 0 at the end of the line.
func (s *scanner) peek() byte {
	for s.at < len(s.in) && (s.in[s.at] == ' ' || s.in[s.at] == '\t') {
		s.at++
	}
	if s.at == len(s.in) {
		return 0
	}
	return s.in[s.at]
}

func (s *scanner) expect(c byte) error {
	if s.peek() != c || s.at == len(s.in) {
		return s.want("expected '" + string(c) + "'")
	}
	s.at++
	return nil
}

func (s *scanner) end() error {
	if s.peek(); s.at < len(s.in) {
		return s.want("expected the end of the line")
	}
	return nil
}

// want returns an error that says what was expected and what was found instead.
func (s *scanner) want(what string) error {
	if s.peek(); s.at == len(s.in) {
		return fmt.Errorf("%s, found the end of the line", what)
	}
	r, _ := utf8.DecodeRune(s.in[s.at:])
	return fmt.Errorf("%s, found %q in column %d", what, r, utf8.RuneCount(s.in[:s.at])+1)
}

func (s *scanner) str() (string, error) {
	if s.peek() != '"' {
		return "", s.want("expected text in double quotes")
	}
	from, escaped := s.at, false
	for i := s.at + 1; i < len(s.in); i++ {
		switch c := s.in[i]; {
		case c == '\\':
			escaped = true
			i++
		case c == '"':
			s.at = i + 1
			return s.unquote(s.in[from:s.at], escaped)
		case c < ' ':
			s.at = i
			return "", s.want("expected text without control characters")
		}
	}
	s.at = len(s.in)
	return "", errors.New("text without its closing quote")
}

func (s *scanner) unquote(quoted []byte, escaped bool) (string, error) {
	if !utf8.Valid(quoted) {
		return "", errors.New("text is not UTF-8")
	}
	if escaped {
		var v string
		if err := json.Unmarshal(quoted, &v); err != nil {
			return "", fmt.Errorf("bad escape in text %.40s", quoted)
		}
		return v, nil
	}
	return s.names.intern(quoted[1 : len(quoted)-1]), nil
}

func text[T ~string](s *scanner) (T, error) {
	v, err := s.str()
	return T(v), err
}

// number parses an integer that fits in 64 bits and in T.
func number[T ~int | ~int64](s *scanner) (T, error) {
	s.peek()
	from := s.at
	for s.at < len(s.in) && (s.in[s.at] == '-' || '0' <= s.in[s.at] && s.in[s.at] <= '9') {
		s.at++
	}
	digits := s.in[from:s.at]
	v, err := whole(digits)
	switch next := s.peek(); {
	case len(digits) == 0:
		return 0, s.want("expected a whole number")
	case next == '.' || next == 'e' || next == 'E':
		return 0, errors.New("expected a whole number, found a fraction or an exponent")
	case errors.Is(err, strconv.ErrRange) || int64(T(v)) != v:
		return 0, fmt.Errorf("%s does not fit in 64 bits", digits)
	case err != nil:
		return 0, fmt.Errorf("%q is not a number", digits)
	}
	return T(v), nil
}

// whole parses digits with an optional sign. It does not allocate memory for numbers of up to 18 digits without a sign,
// and nearly all numbers are like that.
func whole(digits []byte) (int64, error) {
	const few = 18
	if len(digits) > few || len(digits) == 0 || digits[0] == '-' {
		return strconv.ParseInt(string(digits), 10, 64)
	}
	v := int64(0)
	for _, c := range digits {
		if c == '-' {
			return strconv.ParseInt(string(digits), 10, 64)
		}
		v = 10*v + int64(c-'0')
	}
	return v, nil
}

func (s *scanner) boolean() (bool, error) {
	s.peek()
	for _, word := range []string{"true", "false"} {
		if end := s.at + len(word); end <= len(s.in) && string(s.in[s.at:end]) == word {
			s.at = end
			return word == "true", nil
		}
	}
	return false, s.want("expected true or false")
}

func (s *scanner) eventType() (Type, error) {
	name, err := s.str()
	if err != nil {
		return 0, err
	}
	t, ok := parseType(name)
	if !ok {
		return 0, unknown("unknown type", name, typeNames[1:])
	}
	return t, nil
}

func (s *scanner) check() (Check, error) {
	name, err := s.str()
	if err != nil {
		return 0, err
	}
	at := slices.Index(checkNames[1:], name)
	if at < 0 {
		return 0, unknown("unknown check", name, checkNames[1:])
	}
	return Check(at + 1), nil
}

func (s *scanner) loss() (Loss, error) {
	v, err := text[Loss](s)
	if err == nil {
		err = v.wrong()
	}
	return v, err
}

// processes parses a list of names. It returns nil for an empty list.
func (s *scanner) processes() ([]Process, error) {
	if err := s.expect('['); err != nil {
		return nil, err
	}
	if s.peek() == ']' {
		s.at++
		return nil, nil
	}
	var list []Process
	for {
		v, err := text[Process](s)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if s.peek() == ']' {
			s.at++
			return list, nil
		}
		if err := s.expect(','); err != nil {
			return nil, err
		}
	}
}
