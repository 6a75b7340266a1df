package nemesis

import (
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"
)

// FuzzParse checks that Parse does not panic, that an error points to a place in the line, and that a parsed fault's
// text parses to an equal fault. If Validate rejects the fault, ParseFor must reject the line.
func FuzzParse(f *testing.F) {
	for _, g := range grammar {
		f.Add(g.line)
	}
	for _, bad := range badGrammar {
		f.Add(bad.line)
	}
	for _, bad := range impossible {
		f.Add(bad.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		fault, err := Parse(line)
		if err != nil {
			var where *ParseError
			if !errors.As(err, &where) || where.Column < 1 || where.Column > utf8.RuneCountInString(line)+1 ||
				where.Msg == "" {
				t.Fatalf("%q: %v points outside of the line or says nothing", line, err)
			}
			return
		}
		again, err := Parse(fault.String())
		if err != nil || !reflect.DeepEqual(again, fault) {
			t.Fatalf("%q printed as %q, parsed back as %+v, %v; want %+v", line, fault, again, err, fault)
		}
		if err := Validate(fault, testNames); err != nil {
			if _, strict := ParseFor(line, testNames); strict == nil {
				t.Fatalf("%q: Validate says %v, ParseFor nothing", line, err)
			}
		}
	})
}

// FuzzParsePlan checks that ParsePlan does not panic. If it succeeds, the plan's text must also parse to an equal plan.
func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(planText))
	f.Add([]byte("\ufeff# why\r\n\r\nseed 1 # x\r\nscenario a#b c\r\ncrash client-1 at 1s"))
	f.Add([]byte("scenario a\x00"))
	f.Add([]byte("scenario \u00a0a\u00a0\nseed 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, err := ParsePlan("p", text)
		if err != nil {
			var where *PlanError
			if !errors.As(err, &where) || where.Line < 1 || where.Column < 1 {
				t.Fatalf("%q: %v has no place", text, err)
			}
			return
		}
		again, err := ParsePlan("p", []byte(plan.String()))
		if err != nil || !reflect.DeepEqual(again, plan) {
			t.Fatalf("%q printed as %q, parsed back as %+v, %v", text, plan, again, err)
		}
	})
}
