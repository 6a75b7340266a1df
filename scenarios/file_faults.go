package scenarios

import (
	"errors"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// readFaults parses the list of faults. If the process names are known, it also checks the faults' targets.
func (f *file) readFaults(names *nemesis.Names) {
	if f.faults == nil {
		return
	}
	f.List(f.faults, "faults", func(n ast.Node) {
		line, ok := f.Scalar(n, "a fault such as: pause client-1 for 15s after acquired")
		if !ok {
			return
		}
		place, ok := f.InLine(n, line)
		if !ok {
			f.Problem(place, "", "write the fault on one line, without escapes")
			return
		}
		if fault, ok := f.fault(line, place, names); ok {
			f.scenario.Faults = append(f.scenario.Faults, fault)
		}
	})
}

func (f *file) fault(line string, place format.Place, names *nemesis.Names) (nemesis.Fault, bool) {
	var fault nemesis.Fault
	var err error
	if names != nil {
		fault, err = nemesis.ParseFor(line, *names)
	} else {
		fault, err = nemesis.Parse(line)
	}
	if err != nil {
		f.badFault(err, place)
		return nemesis.Fault{}, false
	}
	if t := fault.Trigger; fault.Kind.Has(nemesis.FieldTrigger) && t.Point == "" && t.Time >= f.scenario.Limit {
		f.Problem(place.Right(timeColumn(line)), "", "this time is after the end of the run, whose limit is %s",
			strconv.FormatFloat(f.scenario.Limit.Seconds(), 'f', -1, 64)+"s")
		return nemesis.Fault{}, false
	}
	return fault, true
}

// badFault reports a problem in a fault line at its position in the file.
func (f *file) badFault(err error, place format.Place) {
	var bad *nemesis.ParseError
	if !errors.As(err, &bad) {
		f.Problem(place, "", "%s", err)
		return
	}
	hint := ""
	if strings.HasSuffix(bad.Msg, `found "restart"`) {
		hint = `; in a list with [ ], a fault with a comma needs quotes`
	}
	f.Problem(place.Right(bad.Column-1), bad.Nearest, "%s%s", bad.Msg, hint)
}

// timeColumn returns the number of characters before the time in a fault line. The time is the word after "at" or
// "from".
func timeColumn(line string) int {
	for _, lead := range []string{" at ", " from "} {
		if before, after, ok := strings.Cut(line, lead); ok {
			blanks := len(after) - len(strings.TrimLeft(after, " "))
			return len([]rune(before)) + len(lead) + blanks
		}
	}
	return 0
}
