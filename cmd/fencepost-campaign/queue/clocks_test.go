package queue

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// TestNoTimeOfAClockIsStored checks that whatever a process stores for other processes contains only durations, and no
// clock times. The processes' clocks may therefore differ by hours. The code does not read the server's time stamps
// either.
func TestNoTimeOfAClockIsStored(t *testing.T) {
	t.Parallel()
	for _, stored := range []any{Spec{}, Progress{}, Present{}, sign{}, ending{}, declared{}, campaign.Part{}} {
		if at := timeIn(reflect.TypeOf(stored)); at != "" {
			t.Errorf("%T has the time of a clock: %s", stored, at)
		}
	}
	of := []string{"Unix", "UnixNano", "UnixMicro", "UnixMilli", "Timestamp", "Created", "Before", "After", "Equal",
		"Format"}
	now := 0
	for _, name := range append(globbed(t, "*.go"), globbed(t, "../*.go")...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, _ := s.X.(*ast.Ident)
			if x != nil && x.Name == "time" && s.Sel.Name == "Now" {
				now++
			}
			if slices.Contains(of, s.Sel.Name) && (x == nil || x.Name != "time" && x.Name != "bytes") {
				t.Errorf("%s: %s reads the time of a clock", name, s.Sel.Name)
			}
			return true
		})
	}
	if now == 0 {
		t.Error("nothing measures durations")
	}
}

func globbed(t *testing.T, pattern string) []string {
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) == 0 {
		t.Fatal(pattern, err)
	}
	return all
}

// timeIn returns the path of a time.Time within a type, or "" if there is none.
func timeIn(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return timeIn(of.Elem())
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return of.String()
		}
		for i := range of.NumField() {
			if at := timeIn(of.Field(i).Type); at != "" {
				return of.Field(i).Name + " " + at
			}
		}
	}
	return ""
}
