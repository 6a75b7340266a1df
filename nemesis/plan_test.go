package nemesis

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

const planText = `scenario kleppmann-gc-pause
seed 18446744073709551615
pause client-1 for 15s after acquired
cut client-1 | redis-1 redis-2 at 1s for 5s
pause client-1 for 15s after acquired
`

func TestPlanPrintsAndParsesBackInItsOrder(t *testing.T) {
	p, err := ParsePlan("plan.txt", []byte(planText))
	if err != nil {
		t.Fatal(err)
	}
	if p.Scenario != "kleppmann-gc-pause" || p.Seed != 1<<64-1 || len(p.Faults) != 3 || p.Faults[1].Kind != Cut {
		t.Errorf("got %+v", p)
	}
	if got := p.String(); got != planText {
		t.Errorf("got\n%swant\n%s", got, planText)
	}
}

func TestPlanMayHaveCommentsAndNoFaults(t *testing.T) {
	for text, want := range map[string]string{
		"scenario a\nseed 1": "scenario a\nseed 1\n",
		"\n  # why\nseed 007 # lucky\n\n\tscenario  a b \n#":       "scenario a b\nseed 7\n",
		"\ufeffscenario a#b\r\nseed 1\r\n":                         "scenario a#b\nseed 1\n",
		"crash client-1 at 1s#x\n"[:20] + "\nscenario ./a\nseed 1": "scenario ./a\nseed 1\ncrash client-1 at 1s\n",
	} {
		if p, err := ParsePlan("plan.txt", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		} else if p.String() != want {
			t.Errorf("%q: got %q, want %q", text, p, want)
		}
	}
}

func TestPlanErrorsSayFileLineColumnAndNearestWord(t *testing.T) {
	const head = "scenario a\nseed 1\n"
	for _, test := range []struct{ text, want string }{
		{"", `p:1:1: expected a line "scenario NAME", found the end of the plan`},
		{"\n\nseed 1\n", `p:4:1: expected a line "scenario NAME", found the end of the plan`},
		{"scenario a\n", `p:2:1: expected a line "seed NUMBER", found the end of the plan`},
		{head + "# x\n  pause client-1 fro 3s at 1s", `p:4:18: expected "for", found "fro" (did you mean "for"?)`},
		{head + "pause client-1 for 3s # at 1s", `p:3:22: expected "at" or "after", found the end of the line`},
		{head + "sede 2", `p:3:1: ` + anyKind + `, found "sede" (did you mean "seed"?)`},
		{head + "senario a", `p:3:1: ` + anyKind + `, found "senario" (did you mean "scenario"?)`},
		{head + "  seed 2", `p:3:3: the seed is given twice`},
		{head + "scenario b", `p:3:1: the scenario is named twice`},
		{"scenario\n", `p:1:9: expected the name of a scenario, found the end of the line`},
		{"scenario # a\n", `p:1:9: expected the name of a scenario, found the end of the line`},
		{"seed\n", `p:1:5: expected a seed, found the end of the line`},
		{"seed -1\n", `p:1:6: expected a seed from 0 to 18446744073709551615, found "-1"`},
		{"seed 18446744073709551616",
			`p:1:6: expected a seed from 0 to 18446744073709551615, found "18446744073709551616"`},
		{"seed 1 2", `p:1:8: expected the end of the line, found "2"`},
		{head + "pause \x00", `p:3:7: the plan is not text: it has the control character U+0000 here`},
		{"\x7fELF\x02\x01", `p:1:1: the plan is not text: it has the control character U+007F here`},
		{head + "# a\u200bb",
			`p:3:4: the plan has the zero-width character U+200B here, which nobody can see: remove it`},
		{head + "# \u2028", `p:3:3: the plan has the separator U+2028 here, which nobody can see: remove it`},
		{head + "# caf\xe9", `p:3:6: the plan is not UTF-8 text`},
		{"scenario a\rseed 1", `p:1:11: the plan is not text: it has the control character U+000D here`},
		{head + strings.Repeat("#", MaxPlan), `p:1:1: the plan is larger than 1 MiB`},
		{head + "pause " + strings.Repeat("x ", maxLine), `p:3:1: the line is longer than 4096 bytes`},
	} {
		_, err := ParsePlan("p", []byte(test.text))
		if err == nil || err.Error() != test.want {
			t.Errorf("%.60q\n got %v\nwant %s", test.text, err, test.want)
		}
		var position *PlanError
		if !errors.As(err, &position) {
			t.Errorf("%.60q: %T is no PlanError", test.text, err)
		}
	}
}

func TestPlanOfTheLargestSizeIsRead(t *testing.T) {
	text := append([]byte("scenario a\nseed 1\n#"), make([]byte, MaxPlan)...)[:MaxPlan]
	for i := len("scenario a\nseed 1\n#"); i < len(text); i++ {
		text[i] = 'x'
	}
	if _, err := ParsePlan("p", text); err != nil {
		t.Error(err)
	}
}

func TestPlanIsCheckedAgainstTheRun(t *testing.T) {
	parse := func(lines ...string) Plan {
		p, err := ParsePlan("p", []byte("scenario a\nseed 1\n"+strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, test := range []struct {
		plan Plan
		want string
	}{
		{parse("crash client-1 at 1s", "pause redis-9 for 2s at 1s"),
			`fault 2, "pause redis-9 for 2s at 1s": column 7: no process of this run is called redis-9 (did you mean "redis-1"?)`},
		{parse("drift redis-1 clock by -500000ppm from 0s", "drift redis-2 clock by -500000ppm from 0s",
			"drift redis-1 clock by -500000ppm from 1s"),
			`fault 3, "drift redis-1 clock by -500000ppm from 1s": together with the drifts before it, the clocks of redis-1 could run at less than a tenth of the true rate`},
		{Plan{Scenario: "a #b"}, "the name of the scenario begins or ends with a space, or has one before a #"},
		{Plan{Scenario: "a\nb"},
			"the name of the scenario contains a line break or another character that cannot be printed"},
		{Plan{Scenario: strings.Repeat("a", maxLine)}, "the name of the scenario is too long for a line"},
		{Plan{}, "the plan names no scenario"},
	} {
		if err := test.plan.Validate(testNames); err == nil || err.Error() != test.want {
			t.Errorf("got %v\nwant %s", err, test.want)
		}
	}
	sound := parse("drift redis-1 clock by -500000ppm from 0s", "drift redis-1 clock by -400000ppm from 0s",
		"drift redis-1 clock by +500000ppm from 0s")
	if err := sound.Validate(testNames); err != nil {
		t.Error(err)
	}
}

// TestAPlanThatIsValidPrintsAndParsesBack checks plans built in code: if Validate accepts a plan, the plan's text
// parses to an equal plan.
func TestAPlanThatIsValidPrintsAndParsesBack(t *testing.T) {
	p := Plan{Scenario: "dir with space/file.yaml", Seed: 3, Faults: []Fault{
		{Kind: Cut, Left: ids("client-1"), Right: ids("resource"), OneWay: true,
			Trigger: Trigger{Time: 1500 * time.Microsecond}},
	}}
	if err := p.Validate(testNames); err != nil {
		t.Fatal(err)
	}
	if got, err := ParsePlan("p", []byte(p.String())); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("got %+v, %v", got, err)
	}
}
