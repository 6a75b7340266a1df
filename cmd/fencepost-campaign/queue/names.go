package queue

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Prefixes of names on the server. NATS itself names the streams that underlie buckets and object stores.
const (
	prefix  = "fencepost_"
	subject = "fencepost."
)

func bucketOf(name string) string  { return prefix + name }
func presentOf(name string) string { return prefix + name + "_present" }
func workOf(name string) string    { return prefix + name + "_work" }
func partsOf(name string) string   { return prefix + name + "_parts" }

var goodName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckName returns an error if a campaign cannot have the given name.
func CheckName(name string) error {
	if goodName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("invalid campaign name %q: "+
		"use at most 63 lower-case letters, digits and hyphens, and do not start with a hyphen", name)
}

// There are two kinds of subjects: one for portions that workers still have to process, and one for results.
const (
	work  = "work"
	parts = "parts"
)

// subjectOf returns a portion's subject of the given kind.
func (c *Campaign) subjectOf(kind, stage string, p portion) string {
	return fmt.Sprintf("%s.%d.%d", c.stageSubject(kind, stage), p.first, p.size)
}

// stageSubject returns the prefix shared by all of a stage's subjects.
func (c *Campaign) stageSubject(kind, stage string) string {
	return subject + c.Name + "." + kind + "." + token(stage)
}

// parse reads a subject of the given kind. It returns an error if the subject does not belong to one of this campaign's
// portions.
func (c *Campaign) parse(kind, text string) (stage string, p portion, err error) {
	rest, ours := strings.CutPrefix(text, subject+c.Name+"."+kind+".")
	words := strings.Split(rest, ".")
	if !ours || len(words) != 3 {
		return "", p, fmt.Errorf("the subject %q does not name a range of positions", text)
	}
	var errs [2]error
	p.first, errs[0] = strconv.ParseUint(words[1], 10, 64)
	p.size, errs[1] = strconv.ParseUint(words[2], 10, 64)
	if errs[0] != nil || errs[1] != nil || p.size == 0 || p.end() < p.first {
		return "", p, fmt.Errorf("the subject %q does not name a range of positions", text)
	}
	return words[0], p, nil
}

// token encodes a name, using only characters that are allowed in subjects and keys. Any other byte, and '=' itself,
// becomes '=' and two hex digits.
func token(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String()
}
