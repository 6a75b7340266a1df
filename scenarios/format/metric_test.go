package format

import (
	goast "go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestAllMetricsCanBeBounded checks that bounds can be set for exactly the metrics that the checker measures, in the
// same units.
func TestAllMetricsCanBeBounded(t *testing.T) {
	h := &history.History{Header: history.Header{Clients: []history.Process{"client-1"}}}
	var names []string
	for _, m := range checker.Measure(h) {
		known, process := metricOf(m.Name)
		if known == nil || known.unit != m.Unit || process != "" && !known.perProcess {
			t.Errorf("%s in %q: known as %+v", m.Name, m.Unit, known)
		}
		names = append(names, m.Name)
	}
	for _, m := range metrics {
		if !slices.Contains(names, m.name) || m.perProcess != slices.Contains(names, m.name+`{process="client-1"}`) {
			t.Errorf("%s is not measured so; there are %v", m.name, names)
		}
	}
}

func TestAMetricOfNobodyIsUnknown(t *testing.T) {
	if m, process := metricOf(`lock_acquisition_time_p50{process=""}`); m != nil {
		t.Errorf("known as %s of process %q, but it is never measured", m.name, process)
	}
}

// TestFormatDocumentIsComplete checks that FORMAT.md lists every cause that can be expected and every metric for which
// a bound can be set.
func TestFormatDocumentIsComplete(t *testing.T) {
	text, err := os.ReadFile("../FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	var wanted []string
	for _, c := range checker.Causes {
		row := "| `" + string(c.Kind) + "` | "
		if len(c.Details) > 0 {
			row += "`" + strings.Join(c.Details, "`, `") + "` "
		}
		wanted = append(wanted, row+"|")
	}
	for _, m := range metrics {
		wanted = append(wanted, "| `"+m.name+"` |")
	}
	for _, w := range wanted {
		if !strings.Contains(string(text), w) {
			t.Errorf("FORMAT.md lacks %q", w)
		}
	}
}

func readLaw(t *testing.T, text string) Law {
	t.Helper()
	r, body, err := Read("f.yaml", []byte("ownership: "+text+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	var law Law
	r.Mapping(body, "", []Field{{Name: "ownership", Read: func(n ast.Node) { law, _ = ReadLaw(r, n) }}})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return law
}

// TestAllCausesCanBeExpected checks that a scenario can expect every cause known to the checker, with every variant.
func TestAllCausesCanBeExpected(t *testing.T) {
	paths, err := filepath.Glob("../../checker/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		goast.Inspect(file, func(node goast.Node) bool {
			spec, ok := node.(*goast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, isKind := spec.Type.(*goast.Ident)
			value, isText := spec.Values[0].(*goast.BasicLit)
			if isKind && isText && kind.Name == "CauseKind" {
				named = append(named, strings.Trim(value.Value, `"`))
			}
			return true
		})
	}
	for _, kind := range named {
		if want := (Law{Outcome: checker.Violated, Cause: checker.Cause{Kind: checker.CauseKind(kind)}}); readLaw(t,
			"violated by "+kind) != want {
			t.Errorf("%s cannot be expected", kind)
		}
	}
	if len(named) != len(checker.Causes) || len(named) < 20 {
		t.Errorf("the checker has %d causes, the format %d", len(named), len(checker.Causes))
	}
	for _, c := range checker.Causes {
		for _, d := range c.Details {
			want := checker.Cause{Kind: c.Kind, Detail: d}
			if got := readLaw(t, "violated by "+want.String()).Cause; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	}
}
