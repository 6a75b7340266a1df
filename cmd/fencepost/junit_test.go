package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// junitElement describes an XML element according to Jenkins' junit-10.xsd (xunit-plugin, types/model/xsd): its
// attributes with the patterns of their values, its required attributes, its children, and whether it contains text.
type junitElement struct {
	attributes map[string]*regexp.Regexp
	required   []string
	children   []string
	text       bool
}

var (
	anyText      = regexp.MustCompile(`^`)
	surefireTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?$`)
	note         = junitElement{attributes: map[string]*regexp.Regexp{"type": anyText, "message": anyText}, text: true}
)

var junitSchema = map[string]junitElement{
	"testsuites": {
		children: []string{"testsuite"},
		attributes: map[string]*regexp.Regexp{"name": anyText, "time": surefireTime, "tests": anyText,
			"failures": anyText, "disabled": anyText, "errors": anyText},
	},
	"testsuite": {
		children: []string{"testsuite", "properties", "testcase", "system-out", "system-err"},
		required: []string{"name", "tests", "failures", "errors"},
		attributes: map[string]*regexp.Regexp{
			"name":      anyText,
			"tests":     anyText,
			"failures":  anyText,
			"errors":    anyText,
			"time":      surefireTime,
			"skipped":   anyText,
			"timestamp": anyText,
			"hostname":  anyText,
			"id":        anyText,
			"package":   anyText,
		},
	},
	"testcase": {
		children: []string{"skipped", "error", "failure", "system-out", "system-err"},
		required: []string{"name"},
		attributes: map[string]*regexp.Regexp{
			"name":      anyText,
			"time":      surefireTime,
			"classname": anyText,
			"group":     anyText,
		},
	},
	"failure": note, "error": note, "skipped": note, "system-out": {text: true}, "system-err": {text: true},
}

// checkJUnit returns an error if a report does not conform to the schema, or to what Jenkins, GitLab and Ant assume: a
// suite's totals are the sums over its cases, each case has at most one result and a decimal time, and skipped cases
// took no time.
func checkJUnit(text []byte) error {
	var open []string
	results, counts := 0, map[string]int{}
	sums := map[string]string{}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if err := checkJUnitElement(token, open); err != nil {
				return err
			}
			switch name {
			case "testcase":
				results = 0
			case "testsuite":
				for _, a := range token.Attr {
					sums[a.Name.Local] = a.Value
				}
			case "skipped", "error", "failure":
				if results++; results > 1 {
					return errors.New("a case has two results")
				}
			}
			counts[name]++
			open = append(open, name)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && !junitSchema[open[len(open)-1]].text && strings.TrimSpace(string(token)) != "" {
				return fmt.Errorf("text in %s", open[len(open)-1])
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for attribute, element := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error",
		"skipped": "skipped"} {
		if sums[attribute] != strconv.Itoa(counts[element]) {
			return fmt.Errorf("%s=%q, but there are %d", attribute, sums[attribute], counts[element])
		}
	}
	return nil
}

func checkJUnitElement(e xml.StartElement, open []string) error {
	name := e.Name.Local
	is, known := junitSchema[name]
	switch {
	case !known:
		return fmt.Errorf("there is no element %s", name)
	case len(open) == 0 && name != "testsuites":
		return fmt.Errorf("%s is no root", name)
	case len(open) > 0 && !slices.Contains(junitSchema[open[len(open)-1]].children, name):
		return fmt.Errorf("%s in %s", name, open[len(open)-1])
	}
	var has []string
	for _, a := range e.Attr {
		pattern := is.attributes[a.Name.Local]
		if pattern == nil || !pattern.MatchString(a.Value) {
			return fmt.Errorf("%s has %s=%q", name, a.Name.Local, a.Value)
		}
		has = append(has, a.Name.Local)
	}
	required := is.required
	if name == "testcase" || name == "testsuite" {
		required = append(slices.Clone(required), "time") // programs that use Ant's schema require a time
	}
	for _, r := range required {
		if !slices.Contains(has, r) {
			return fmt.Errorf("%s lacks %s", name, r)
		}
	}
	return nil
}

// TestEveryCommandsJUnitKeepsToTheSchema checks that every command that judges runs writes JUnit reports that CI
// systems can read.
func TestEveryCommandsJUnitKeepsToTheSchema(t *testing.T) {
	testkit.FullOnly(t)
	t.Chdir(t.TempDir())
	for name, text := range jsonFiles {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	calls := [][]string{
		{"run", "kleppmann-gc-pause"},
		{"replay", "_runs/kleppmann-gc-pause-1/plan.txt"},
		{"run", "violated.yaml"},
		{
			"run",
			"violated.yaml",
			"--seeds",
			"3",
			"--out",
			"a",
		},
		{"explore", "kleppmann-gc-pause", "--seeds", "20", "--out", "b"},
		{"merge", "b", "--out", "c"},
		{"verify", "violated.yaml", "--kinds", "pause"},
		{"verify", "holds.yaml", "--faults", "0"},
		{
			"sweep",
			"delayed-restart",
			"--vary",
			"restart=5s,12s",
			"--seeds",
			"1",
			"--assert",
			"lease-exclusion holds when restart >= 1s",
		},
		{"compare", "--seeds", "1"},
		{"corpus", "--seeds", "1"},
		{"odds", "--runs", "20"},
		{"advise", "violated.yaml", "--seeds", "5", "--out", "saved"},
		{"check", "_runs/kleppmann-gc-pause-1/history.jsonl", "--out", "judged"},
		{"live", "quick.yaml"},
		{"live", "--agree", "--servers", "simulated", "tair-cad-release"},
	}
	for i, call := range calls {
		if !runsHere(call) {
			continue
		}
		var out, problems bytes.Buffer
		file := fmt.Sprintf("junit-%d.xml", i)
		if code := run(append(call, "--junit", file), &out, &problems); code == exitBadInput {
			t.Errorf("%v: %s", call, problems.String())
			continue
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = checkJUnit(text)
		}
		if err != nil {
			t.Errorf("%v: %v\n%.2000s", call, err, text)
		}
	}
	for _, c := range newRoot().Commands() {
		if c.Flags().Lookup("junit") != nil &&
			!slices.ContainsFunc(calls, func(call []string) bool { return call[0] == c.Name() }) {
			t.Errorf("%s has --junit, and no call tests it", c.Name())
		}
	}
}

// TestTheJUnitCheckRefusesWrongReports checks that checkJUnit rejects reports that CI systems would reject.
func TestTheJUnitCheckRefusesWrongReports(t *testing.T) {
	const good = `<testsuites><testsuite name="a" tests="1" failures="0" errors="0" skipped="1" time="0.100">` +
		`<testcase classname="a" name="b" time="0.100"><skipped type="x" message="y">z</skipped></testcase></testsuite></testsuites>`
	if err := checkJUnit([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range [][2]string{{`errors="0"`, ``}, {`time="0.100"><skipped`, `time="1e-3"><skipped`},
		{`time="0.100"><skipped`, `><skipped`},
		{`skipped="1"`, `skipped="0"`}, {`tests="1"`, `tests="2"`}, {`</testcase>`, `text</testcase>`}, {`<skipped`,
			`<skipped id="1"`},
		{`</skipped>`, `</skipped><failure/>`}, {`</skipped>`, `<b/></skipped>`}, {`<testsuites>`, `<suites>`},
		{`name="b"`, ``}} {
		if bad := strings.Replace(good, wrong[0], wrong[1], 1); bad == good || checkJUnit([]byte(bad)) == nil {
			t.Errorf("%q in place of %q passes", wrong[1], wrong[0])
		}
	}
}
