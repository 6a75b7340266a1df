package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Subject is a scenario whose settings can be varied. Set, which changes a setting, may be called only before axes and
// assertions are parsed.
type Subject struct {
	scenario *scenarios.Scenario
	doc      *format.Document
	faults   []variedFault
	given    []given // keys that Set has set, apart from whole faults
	keys     []*Key  // all keys that can be named, in the order of FORMAT.md, followed by the keys of faults
}

// NewSubject returns a Subject for s. It fails only if s's text cannot be parsed again.
func NewSubject(s *scenarios.Scenario) (*Subject, error) {
	doc, err := format.ParseDocument(s.Name, s.Text())
	if err != nil {
		return nil, err
	}
	b := &Subject{scenario: s, doc: doc}
	for i, line := range doc.List("faults") {
		f, err := nemesis.Parse(line)
		if err != nil {
			return nil, fmt.Errorf("fault %d: %w", i+1, err)
		}
		b.faults = append(b.faults, variedFault{Fault: f})
	}
	b.findKeys()
	return b, nil
}

// findKeys collects the current keys of the document and its faults.
func (b *Subject) findKeys() {
	b.keys = nil
	v := variableKeys()
	for _, of := range [][]Key{v.ofServers, v.ofClients} {
		for i := range of {
			b.keys = append(b.keys, &of[i])
		}
	}
	for _, path := range b.leaves("overrides") {
		if k := overriding(path); k != nil {
			b.keys = append(b.keys, k)
		}
	}
	for _, link := range b.doc.Keys("network.links") {
		b.keys = append(b.keys, linkKey(link))
	}
	for i := range b.faults {
		b.keys = append(b.keys, faultKeys(i, &b.faults[i].Fault)...)
	}
}

// leaves returns the paths of all values inside a mapping that are not mappings themselves.
func (b *Subject) leaves(path string) []string {
	keys := b.doc.Keys(path)
	if len(keys) == 0 {
		return []string{path}
	}
	var all []string
	for _, key := range keys {
		all = append(all, b.leaves(path+"."+key)...)
	}
	return all
}

// overriding returns the key for a setting in one client's overrides, or nil if the path does not name such a setting.
func overriding(path string) *Key {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 3 || parts[0] != "overrides" {
		return nil
	}
	v := variableKeys()
	for _, k := range append([]Key{v.startOfClient}, v.ofClients...) {
		if k.Path == parts[2] {
			k.Path, k.client = path, parts[1]
			return &k
		}
	}
	return nil
}

// linkKey returns the Key for one link's delay.
func linkKey(link string) *Key {
	return &Key{Path: "network.links." + link, Unit: Durations}
}

// key returns the key with the given name. The name is the key's path, or a suffix that only this path has.
func (b *Subject) key(name string) (*Key, error) {
	var found []*Key
	for _, k := range b.keys {
		switch {
		case k.Path == name:
			return k, nil
		case strings.HasSuffix(k.Path, "."+name):
			found = append(found, k)
		}
	}
	if k := overriding(name); k != nil {
		return k, nil
	}
	if link, ok := strings.CutPrefix(name, "network.links."); ok {
		return linkKey(link), nil
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, b.unknown(name)
	}
	var paths []string
	for _, k := range found {
		paths = append(paths, k.Path)
	}
	return nil, fmt.Errorf("%q could be %s: write one of them", name, listed(paths, "or"))
}

// idleKeys are the settings of a scenario file that have no effect on a sweep's runs.
var idleKeys = []string{"name", "summary", "source", "mix", "promise", "expect"}

// unknown returns the error for a name that no key has. It suggests the nearest key.
func (b *Subject) unknown(name string) error {
	top, _, _ := strings.Cut(name, ".")
	if slices.Contains(idleKeys, top) {
		return fmt.Errorf("%s has no effect here: "+
			"a sweep runs the faults that the file lists, and judges the runs itself",
			name)
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "faults.")); err == nil && strings.HasPrefix(name, "faults.") {
		return fmt.Errorf("%s is a whole fault: vary one of its values%s", name, b.fields(n))
	}
	var near []string
	for _, k := range b.keys {
		for path := k.Path; path != ""; _, path, _ = strings.Cut(path, ".") {
			near = append(near, path)
		}
	}
	if strings.HasPrefix(name, "faults.") && len(b.faults) == 0 {
		return errors.New("the scenario lists no faults: " +
			"add one with --set 'faults.1=pause client-1 for 15s after acquired'")
	}
	return &unknownKey{name, nearest.Word(name, near)}
}

// unknownKey reports that no key's path ends with the given name.
type unknownKey struct{ name, nearest string }

// Error returns a message such as `unknown key "tll" (did you mean "ttl"?)`.
func (e *unknownKey) Error() string {
	return meaning(fmt.Sprintf("unknown key %q", e.name), e.nearest).Error()
}

// fields returns the keys of the nth fault as text, counting from 1.
func (b *Subject) fields(n int) string {
	if n < 1 || n > len(b.faults) {
		return ""
	}
	var names []string
	for _, k := range b.keys {
		if k.fault == n {
			names = append(names, k.Path)
		}
	}
	return ", " + listed(names, "or")
}

// listed joins words with commas, and the last two words with the given conjunction.
func listed(words []string, last string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
	}
	return strings.Join(words, "")
}

// Set gives a setting the same value at all points, as in "work.hold=validity". It can also replace or add a whole
// fault, as in "faults.2=crash redis-1 losing everything at 1s, restart after 11s".
func (b *Subject) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || value == "" {
		return fmt.Errorf("expected KEY=VALUE such as work.hold=validity, found %q", text)
	}
	if number, isFault := strings.CutPrefix(name, "faults."); isFault && !strings.Contains(number, ".") {
		return b.setFault(number, value)
	}
	k, err := b.key(name)
	if err != nil {
		return err
	}
	level := Level{Text: value}
	if k.Unit != Words {
		if n, err := k.parseNumber(value); err == nil { // otherwise the value may be a word, such as none
			level = k.number(n)
		} else if k.fault > 0 {
			return err
		}
	}
	b.given = append(b.given, given{k.Path, level.Text})
	if k.fault > 0 {
		k.set(b.faults, level.N)
	} else {
		b.doc.Set(k.Path, level.Text)
	}
	b.findKeys()
	return nil
}

// given is a setting that has the same value at all points of a sweep.
type given struct{ path, value string }

// givenTexts returns the settings that Set has changed, except whole faults, as strings such as "work.hold validity".
func (b *Subject) givenTexts() []string {
	var all []string
	for _, g := range b.given {
		all = append(all, g.path+" "+g.value)
	}
	return all
}

// setFault replaces the fault with the given number, counted from 1. If the number is one more than the number of
// faults, it appends a fault.
func (b *Subject) setFault(number, line string) error {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(b.faults)+1 {
		return fmt.Errorf("faults are numbered from 1, and the next one would be faults.%d, not faults.%s",
			len(b.faults)+1, number)
	}
	f, err := nemesis.Parse(line)
	if err != nil {
		return fmt.Errorf("faults.%d: %w", n, err)
	}
	if n > len(b.faults) {
		b.faults = append(b.faults, variedFault{})
	}
	b.faults[n-1] = variedFault{Fault: f}
	b.findKeys()
	return nil
}

// faultLines returns the fault lines, in order, before the axes vary them.
func (b *Subject) faultLines() []string {
	var lines []string
	for i := range b.faults {
		line := b.faults[i].String()
		if b.faults[i].void {
			line = "left out: a " + b.faults[i].Kind.String() + " of nothing"
		}
		lines = append(lines, line)
	}
	return lines
}

// Faults returns the fault lines, including any changes made by Set. It returns an error if a fault cannot be written
// as a line.
func (b *Subject) Faults() ([]string, error) {
	lines, problem := faultLines(b.faults)
	if problem != "" {
		return nil, errors.New(problem)
	}
	return lines, nil
}

// Judged returns the laws that a sweep judges: those with the given names and those in the assertions. If no names are
// given, it uses the laws that the scenario promises or lists in "expect". If that leaves no laws, it returns all laws.
func (b *Subject) Judged(names []string, assertions []*Assertion) ([]checker.Law, error) {
	var all []string
	for _, law := range checker.Laws {
		all = append(all, string(law))
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, meaning(fmt.Sprintf("there is no law %q", name), nearest.Word(name, all))
		}
	}
	if len(names) == 0 {
		names = slices.Concat(b.doc.Keys("expect"), b.doc.List("promise"))
	}
	var laws []checker.Law
	for _, law := range checker.Laws {
		asserted := slices.ContainsFunc(assertions, func(a *Assertion) bool { return a.Law == law })
		if asserted || slices.Contains(names, string(law)) {
			laws = append(laws, law)
		}
	}
	if laws == nil {
		return checker.Laws, nil
	}
	return laws, nil
}
