package checker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	goparser "go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestNoMutantSurvives changes one operator at a time, in the checker or in a package that it uses, and runs both
// packages' tests at their everyday size. If they do not notice a change, they are run again at the size for continuous
// integration; if they notice it then, the change is logged. A change that no test notices is a survivor. The test
// takes hours, and runs only if an environment variable selects files:
//
//	FENCEPOST_MUTANTS=*.go go test ./checker -run TestNoMutantSurvives -timeout 0 -v
//
// FENCEPOST_MUTANTS=ownership.go,trace/reach.go selects only these files. A file name ending in /7 selects every
// seventh change in the file, and one ending in :61 selects the changes in line 61.
func TestNoMutantSurvives(t *testing.T) {
	asked := os.Getenv("FENCEPOST_MUTANTS")
	if asked == "" {
		t.Skip("set FENCEPOST_MUTANTS=*.go")
	}
	tried, thorough, survived := 0, 0, 0
	for _, pattern := range strings.Split(asked, ",") {
		asked := regexp.MustCompile(`^(.+?)(?:/(\d+)|:(\d+))?$`).FindStringSubmatch(strings.TrimSpace(pattern))
		pattern, every, line := asked[1], 1, asked[3]
		if n, err := strconv.Atoi(asked[2]); err == nil && n > 0 {
			every = n
		}
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("FENCEPOST_MUTANTS: no file %q", pattern)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for n := 0; ; n += every {
				where, source := mutant(t, file, n)
				if source == nil {
					break
				}
				if line != "" && !strings.Contains(where, ":"+line+":") {
					continue
				}
				tried++
				switch {
				case caught(t, file, source, "-short"):
				case caught(t, file, source, "-short=false"):
					thorough++
					t.Logf("noticed only with CI=true: %s", where)
				default:
					survived++
					t.Errorf("survived: %s", where)
				}
			}
		}
	}
	t.Logf("%d mutants: %d noticed only with CI=true, %d survived", tried, thorough, survived)
}

// swaps maps each operator to its replacement in a mutant.
var swaps = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ,
	token.GEQ: token.GTR, token.EQL: token.NEQ,
	token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD}

// mutant returns the location of a file's n-th operator, and the source with that operator changed. The source is nil
// if the file has fewer operators.
func mutant(t *testing.T, file string, n int) (where string, source []byte) {
	t.Helper()
	set := token.NewFileSet()
	tree, err := goparser.ParseFile(set, file, nil, goparser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		x, ok := node.(*ast.BinaryExpr)
		if !ok || swaps[x.Op] == 0 || isText(x.X) || isText(x.Y) {
			return true
		}
		if n--; n == -1 {
			where = fmt.Sprintf("%s: %v becomes %v", set.Position(x.OpPos), x.Op, swaps[x.Op])
			x.Op = swaps[x.Op]
		}
		return true
	})
	if where == "" {
		return "", nil
	}
	var b bytes.Buffer
	if err := format.Node(&b, set, tree); err != nil {
		t.Fatal(err)
	}
	return where, b.Bytes()
}

// isText reports whether an expression is a string literal. The only operator on strings that can be changed is +.
func isText(x ast.Expr) bool {
	literal, ok := x.(*ast.BasicLit)
	return ok && literal.Kind == token.STRING
}

// caught reports whether the change to the source is noticed: it does not compile, or the tests fail or do not end.
// With -short, the tests run at their everyday size.
func caught(t *testing.T, file string, source []byte, short string) bool {
	t.Helper()
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, filepath.Base(file)), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err := errors.Join(err, os.WriteFile(changed, source, 0o600), os.WriteFile(overlay, plan, 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, "go", "test", short, "-failfast", "-vet=off", "-overlay", overlay, ".",
		"./"+filepath.Dir(file))
	run.Env = append(os.Environ(), "CI=true", "FENCEPOST_FULL=", "FENCEPOST_MUTANTS=")
	return run.Run() != nil
}
