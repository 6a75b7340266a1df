package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// TestReferenceIsMadeFromTheTables checks that FORMAT.md describes each setting, protocol, kind of fault, law and cause
// in the same way as the tables in the code.
func TestReferenceIsMadeFromTheTables(t *testing.T) {
	for part, made := range map[string]string{"keys": reference(), "faults": faultReference(),
		"laws": lawReference(), "causes": causeReference()} {
		testkit.GoldenPart(t, "FORMAT.md", part, made)
	}
}

// faultReference returns the part of the reference that says how faults are written and what they do.
func faultReference() string {
	var b strings.Builder
	fmt.Fprintf(&b, "```text\n%s\n```\n\n| fault | weight | what happens |\n|---|---|---|\n",
		strings.Join(nemesis.Usage(), "\n"))
	for _, k := range nemesis.Kinds {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", k, draw.Default().Weights[k], k.Meaning())
	}
	return b.String()
}

// lawReference returns the table of laws with their statements.
func lawReference() string {
	var b strings.Builder
	b.WriteString("| law | statement |\n|---|---|\n")
	for _, law := range checker.Laws {
		fmt.Fprintf(&b, "| `%s` | %s |\n", law, law.Says())
	}
	return b.String()
}

// causeReference returns the table of violation causes, with their details.
func causeReference() string {
	var b strings.Builder
	b.WriteString("| cause | details |\n|---|---|\n")
	for _, c := range checker.Causes {
		fmt.Fprintf(&b, "| `%s` |", c.Kind)
		for i, detail := range c.Details {
			b.WriteString([]string{" ", ", "}[min(i, 1)] + "`" + detail + "`")
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// reference returns the settings and protocol tables.
func reference() string {
	var b strings.Builder
	f := newFile(&format.Reader{})
	heads(&b)
	rows(&b, "", f.fields(), func(path string) bool {
		return !strings.HasPrefix(path, "lock.") || path == "lock.protocol" || path == "lock.name"
	})
	var sections [][]locks.Protocol
	for _, s := range locks.Settings() {
		if takers := locks.Taking(s.Path, ""); !slices.ContainsFunc(sections,
			func(other []locks.Protocol) bool { return slices.Equal(takers, other) }) {
			sections = append(sections, takers)
		}
	}
	for _, takers := range sections {
		fmt.Fprintf(&b, "\n### %s\n\n", titleOf(takers))
		heads(&b)
		for _, s := range locks.Settings() {
			if slices.Equal(locks.Taking(s.Path, ""), takers) &&
				!(s.Form.Kind == format.Mapping && s.Form.Words == nil) {
				fmt.Fprintf(&b, "| `lock.%s` | %s | %s | %s |\n", s.Path, differing(takers, &s, valuesIn),
					differing(takers, &s, standardIn), s.Meaning)
			}
		}
	}
	b.WriteString("\n### Protocols\n\n| protocol | what it does |\n|---|---|\n")
	for _, d := range locks.Definitions() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", d.Name, d.Text)
	}
	return b.String()
}

func heads(b *strings.Builder) {
	b.WriteString("| key | values | default | meaning |\n|---|---|---|---|\n")
}

func rows(b *strings.Builder, under string, fields []field, wanted func(path string) bool) {
	for _, f := range fields {
		path := under + f.name
		if f.doc.meaning != "" && f.instead == "" && wanted(path) && f.doc.standard != "the keys below" {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, f.doc.values, f.doc.standard, f.doc.meaning)
		}
		rows(b, path+".", f.inside(), wanted)
	}
}

func titleOf(takers []locks.Protocol) string {
	switch {
	case len(takers) == len(locks.Definitions()):
		return "With every protocol"
	case len(takers) == 1:
		return "Only with " + string(takers[0])
	}
	return "With " + format.Listed(takers, "and")
}

func valuesIn(s *locks.Setting) string { return s.Form.Values() }

func standardIn(s *locks.Setting) string { return docOf(s).standard }

// differing describes a setting with the text that textOf returns for it. If the text is not the same for all
// protocols, differing returns each text together with its protocols.
func differing(takers []locks.Protocol, first *locks.Setting, textOf func(*locks.Setting) string) string {
	var texts []string
	with := map[string][]locks.Protocol{}
	for _, p := range takers {
		text := textOf(locks.Define(p).Setting(first.Path))
		if with[text] == nil {
			texts = append(texts, text)
		}
		with[text] = append(with[text], p)
	}
	slices.SortStableFunc(texts, func(a, b string) int { return len(with[b]) - len(with[a]) })
	out := texts[0]
	for _, text := range texts[1:] {
		out += "; with " + format.Listed(with[text], "and") + " " + text
	}
	return out
}
