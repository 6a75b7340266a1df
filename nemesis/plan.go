package nemesis

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// MaxPlan is the maximum size of a plan's text in bytes.
const MaxPlan = 1 << 20

// Plan contains all faults in one run. Together, the scenario and the plan completely determine the run.
type Plan struct {
	Scenario string // the scenario's name or file
	Seed     uint64 // seed of the run's random streams (delays, back-offs), and of the faults if they were drawn
	// Faults are the run's faults. Those that strike at the same instant do so in this order.
	Faults []Fault
}

// String prints the plan in the format that ParsePlan parses: the line "scenario NAME", the line "seed N", then one
// fault per line.
func (p Plan) String() string {
	b := append(append([]byte("scenario "), p.Scenario...), "\nseed "...)
	b = append(strconv.AppendUint(b, p.Seed, 10), '\n')
	for _, f := range p.Faults {
		b = append(append(b, f.String()...), '\n')
	}
	return string(b)
}

// PlanError reports what is wrong with a plan's text, and where. If a whole line is missing, Column is 1.
type PlanError struct {
	File string
	Line int // counted from 1
	ParseError
}

// Error returns a message such as `FILE:3:7: expected "for", found "fro" (did you mean "for"?)`.
func (e *PlanError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.detail())
}

// ParsePlan parses a plan. name is the file name to use in errors. Empty lines are ignored, and so is everything after
// a "#" at the start of a line or after white space. Any error that it returns is a *PlanError.
func ParsePlan(name string, text []byte) (Plan, error) {
	r := planReader{file: name}
	if len(text) > MaxPlan {
		return Plan{}, r.errorf(1, "the plan is larger than 1 MiB")
	}
	rest := bytes.TrimPrefix(text, []byte("\ufeff"))
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		r.line++
		if err := r.read(strings.TrimSuffix(string(line), "\r")); err != nil {
			return Plan{}, err
		}
	}
	r.line++
	switch {
	case !r.hasScenario:
		return Plan{}, r.errorf(1, `expected a line "scenario NAME", found the end of the plan`)
	case !r.hasSeed:
		return Plan{}, r.errorf(1, `expected a line "seed NUMBER", found the end of the plan`)
	}
	return r.plan, nil
}

// Validate checks that each of the plan's faults is possible in a run with the known processes. It also checks that the
// drifts cannot slow a clock to less than a tenth of the true rate. The error quotes the line of the fault that is not
// possible. If the error wraps a *ParseError, the ParseError's column refers to that line.
func (p Plan) Validate(known Names) error {
	if problem := badScenario(p.Scenario); problem != "" {
		return errors.New(problem)
	}
	for i, f := range p.Faults {
		if err := Validate(f, known); err != nil {
			return fmt.Errorf("fault %d, %q: %w", i+1, f.String(), err)
		}
		if p.slowest(i) > SlowestPPM {
			return fmt.Errorf("fault %d, %q: "+
				"together with the drifts before it, the clocks of %s could run at less than a tenth of the true rate",
				i+1, f.String(), f.Target)
		}
	}
	return nil
}

// slowest returns how much slower than normal, in ppm, the clocks of fault i's target can run. It assumes the worst
// case, in which all drifts up to fault i that slow this target are active at once.
func (p Plan) slowest(i int) int {
	slower := 0
	for _, f := range p.Faults[:i+1] {
		if f.Target == p.Faults[i].Target {
			slower += max(0, -f.PPM)
		}
	}
	return slower
}

type planReader struct {
	file                 string
	line                 int // number of the current line
	plan                 Plan
	hasScenario, hasSeed bool
}

// headers lists the words that can begin a line in a plan, apart from the words that begin a fault.
var headers = []string{"scenario", "seed"}

func (r *planReader) read(line string) error {
	if err := r.checkText(line); err != nil {
		return err
	}
	line = cutComment(line)
	tokens, end, err := tokenize(line, nil)
	switch {
	case err != nil:
		return r.wrap(err)
	case len(tokens) == 0:
		return nil
	case tokens[0].text == "scenario":
		return r.readScenario(line, tokens[0], end)
	case tokens[0].text == "seed":
		return r.readSeed(tokens, end)
	}
	f, _, err := parseLine(line, nil, headers...)
	if err != nil {
		return r.wrap(err)
	}
	r.plan.Faults = append(r.plan.Faults, f)
	return nil
}

// checkText rejects bytes that do not occur in text files. As a result, the error for a binary file says that it is
// binary, instead of complaining about an invalid fault.
func (r *planReader) checkText(line string) error {
	for column := 1; line != ""; column++ {
		c, size := utf8.DecodeRuneInString(line)
		switch {
		case c == utf8.RuneError && size == 1:
			return r.errorf(column, "the plan is not UTF-8 text")
		case history.Unprintable(c) && c != '\t':
			return r.errorf(column, history.NotText("plan", c))
		}
		line = line[size:]
	}
	return nil
}

func (r *planReader) readScenario(line string, word token, end int) error {
	_, name, _ := strings.Cut(line, word.text)
	name = strings.TrimSpace(name)
	switch problem := badScenario(name); {
	case r.hasScenario:
		return r.errorf(word.column, "the scenario is named twice")
	case name == "":
		return r.errorf(end, "expected the name of a scenario, found the end of the line")
	case problem != "":
		return r.errorf(word.column, problem)
	}
	r.plan.Scenario, r.hasScenario = name, true
	return nil
}

func (r *planReader) readSeed(tokens []token, end int) error {
	switch {
	case r.hasSeed:
		return r.errorf(tokens[0].column, "the seed is given twice")
	case len(tokens) == 1:
		return r.errorf(end, "expected a seed, found the end of the line")
	case len(tokens) > 2:
		return r.errorf(tokens[2].column, "expected the end of the line, found "+quoteFound(tokens[2].text))
	}
	seed, err := strconv.ParseUint(tokens[1].text, 10, 64)
	if err != nil {
		return r.errorf(tokens[1].column,
			"expected a seed from 0 to 18446744073709551615, found "+quoteFound(tokens[1].text))
	}
	r.plan.Seed, r.hasSeed = seed, true
	return nil
}

func (r *planReader) errorf(column int, msg string) error {
	return r.wrap(&ParseError{Column: column, Msg: msg})
}

func (r *planReader) wrap(err *ParseError) error {
	return &PlanError{File: r.file, Line: max(r.line, 1), ParseError: *err}
}

// cutComment removes the comment from a line. A comment begins with a "#" at the start of the line or after white
// space.
func cutComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}

// badScenario says why name cannot be the name of a scenario in a plan. It returns "" if it can.
func badScenario(name string) string {
	line := "scenario " + name
	switch {
	case name == "":
		return "the plan names no scenario"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, history.Unprintable):
		return "the name of the scenario contains a line break or another character that cannot be printed"
	case len(line) > maxLine:
		return "the name of the scenario is too long for a line"
	case strings.TrimSpace(name) != name || cutComment(line) != line:
		return "the name of the scenario begins or ends with a space, or has one before a #"
	}
	return ""
}
