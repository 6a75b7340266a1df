package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fencepost-sim/fencepost/"

// arrows are the rooms and what each may import of the others, as the README draws it. The words of a history are common
// to all.
var arrows = map[string][]string{
	"checker/history":    {},
	"checker/linear":     {"checker/history"},
	"checker":            {"checker/history", "checker/linear"},
	"checker/slow":       {"checker/history"},
	"sim":                {"checker/history"},
	"sim/redis":          {"checker/history", "sim", "sim/redis/aof", "sim/redis/command", "sim/redis/keyspace", "sim/redis/lua", "sim/redis/resp", "sim/redis/tracking"},
	"sim/redis/aof":      {"sim/redis/keyspace"},
	"sim/redis/command":  {"checker/history", "sim", "sim/redis/keyspace", "sim/redis/lua", "sim/redis/resp"},
	"sim/redis/keyspace": {"checker/history", "sim/redis/lua", "sim/redis/resp"},
	"sim/redis/lua":      {"sim"},
	"sim/redis/resp":     {"sim"},
	"sim/redis/sentinel": {"sim", "sim/redis", "sim/redis/resp"},
	"sim/redis/tracking": {"sim/redis/resp"},
	"sim/consensus":      {"checker/history", "sim"},
	"sim/etcd":           {"checker/history", "sim", "sim/consensus"},
	"sim/zookeeper":      {"checker/history", "sim", "sim/consensus"},
	"nemesis":            {"checker/history", "sim"},
	"nemesis/cast":       {"sim"},
	"nemesis/mix":        {"nemesis", "sim"},
	"nemesis/shrink":     {"nemesis", "sim"},
	"scenarios/setting":  {"sim"},
	"scenarios/locks":    {"checker/history", "scenarios/setting", "sim", "sim/zookeeper"},
	"scenarios/format":   {"checker/history", "nemesis", "nemesis/mix", "scenarios/locks", "scenarios/setting", "sim"},
	"scenarios":          {"checker", "checker/history", "nemesis", "nemesis/mix", "scenarios/format", "scenarios/locks", "scenarios/setting", "sim", "sim/consensus", "sim/etcd", "sim/redis", "sim/redis/aof", "sim/redis/sentinel", "sim/zookeeper"},
	"scenarios/parallel": {},
	"scenarios/tally":    {"checker", "checker/history", "nemesis"},
	"scenarios/search":   {"checker", "checker/history", "nemesis", "nemesis/mix", "nemesis/shrink", "scenarios", "scenarios/format", "scenarios/parallel", "scenarios/tally", "sim"},
	"scenarios/verify":   {"checker", "checker/history", "nemesis", "scenarios", "scenarios/format", "scenarios/parallel", "scenarios/tally", "sim"},
	"scenarios/sweep":    {"checker", "nemesis", "scenarios", "scenarios/format", "scenarios/parallel", "scenarios/setting", "scenarios/tally"},
	"scenarios/compare":  {"checker", "checker/history", "nemesis", "scenarios", "scenarios/parallel", "sim"},
	"scenarios/amend":    {"scenarios", "scenarios/format"},
	"scenarios/advise": {"checker", "checker/history", "nemesis", "nemesis/mix", "nemesis/shrink", "scenarios", "scenarios/amend", "scenarios/format", "scenarios/locks", "scenarios/parallel",
		"scenarios/search", "scenarios/setting", "scenarios/tally", "sim"},
	"scenarios/corpus":       {"checker", "nemesis", "scenarios", "scenarios/format"},
	"reports":                {"checker", "checker/history", "reports/headline", "reports/paper"},
	"reports/headline":       {"checker", "checker/history"},
	"reports/paper":          {},
	"reports/schema":         {},
	"reports/browser":        {},
	"scenarios/starter":      {"scenarios", "scenarios/locks", "scenarios/setting"},
	"cmd/fencepost/artefact": {},
	"cmd/fencepost": {"checker", "checker/history", "cmd/fencepost/artefact", "nemesis", "reports", "reports/schema", "scenarios", "scenarios/advise", "scenarios/compare", "scenarios/corpus", "scenarios/format",
		"scenarios/locks", "scenarios/search", "scenarios/starter", "scenarios/sweep", "scenarios/tally", "scenarios/verify"},
}

// nested are the modules inside this one: they hold tests that need what users are not to compile. Nothing of the house
// imports them, and they import nothing of it.
var nested = []string{"reports/browser"}

func TestModulesInsideHoldOnlyTests(t *testing.T) {
	var found []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" && filepath.Dir(path) != filepath.Join("..", "..") {
			dir, err := filepath.Rel("../..", filepath.Dir(path))
			found = append(found, filepath.ToSlash(dir))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, nested) {
		t.Errorf("there are modules in %v, and may be in %v", found, nested)
	}
	for _, s := range sources(t) {
		inside := slices.Contains(nested, s.room)
		if inside && !s.test && len(s.file.Decls) > 0 {
			t.Errorf("%s: a module inside holds tests and a package comment, no more", s.path)
		}
		for _, path := range s.imports() {
			if room, ours := strings.CutPrefix(path, module); ours && (inside || slices.Contains(nested, room)) {
				t.Errorf("%s imports %s", s.path, path)
			}
		}
	}
}

// simulated are the rooms in which nothing may come from the host.
var simulated = []string{"sim", "sim/redis", "sim/redis/aof", "sim/redis/command", "sim/redis/keyspace", "sim/redis/lua", "sim/redis/resp",
	"sim/redis/sentinel", "sim/redis/tracking", "sim/consensus", "sim/etcd",
	"sim/zookeeper", "nemesis", "nemesis/cast", "nemesis/mix", "nemesis/shrink", "scenarios", "scenarios/advise", "scenarios/amend", "scenarios/compare",
	"scenarios/corpus", "scenarios/format", "scenarios/locks",
	"scenarios/setting",
	"scenarios/search", "scenarios/sweep", "scenarios/tally", "scenarios/verify", "checker", "checker/history", "checker/linear", "checker/slow"}

// readsFiles may import os: it loads scenario files.
const readsFiles = "scenarios/file.go"

type source struct {
	path string
	room string
	test bool
	file *ast.File
	set  *token.FileSet
}

// sources parses every Go file of the repository.
func sources(t *testing.T) []source {
	t.Helper()
	const root = "../.."
	var all []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name()[0] == '.' || d.Name()[0] == '_' || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		all = append(all, source{rel, filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(path, "_test.go"), file, set})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

func TestRoomsImportOnlyWhatTheArrowsAllow(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		allowed, known := arrows[s.room]
		if !known {
			t.Errorf("%s: %s is no room of the house", s.path, s.room)
		}
		seen[s.room] = true
		for _, path := range s.imports() {
			room, ours := strings.CutPrefix(path, module)
			if ours && !slices.Contains(allowed, room) {
				t.Errorf("%s imports %s: no arrow leads there", s.path, room)
			}
		}
	}
	for room := range arrows {
		if !seen[room] {
			t.Errorf("the arrows name %s, which holds nothing", room)
		}
	}
}

func TestSimulatedCodeTakesNothingFromTheHost(t *testing.T) {
	forbidden := map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	}
	banned := []string{"math/rand", "math/rand/v2", "hash/maphash", "crypto/rand", "net", "net/http", "os/exec"}
	for _, s := range sources(t) {
		if s.test || !slices.Contains(simulated, s.room) {
			continue
		}
		for _, path := range s.imports() {
			if slices.Contains(banned, path) || path == "os" && s.path != readsFiles {
				t.Errorf("%s imports %s", s.path, path)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine", s.set.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && slices.Contains(forbidden[x.Name], n.Sel.Name) {
					t.Errorf("%s: %s.%s", s.set.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// writesFiles is the one room that changes what is on the disk.
const writesFiles = "cmd/fencepost/artefact"

func TestOnlyOneRoomWritesFiles(t *testing.T) {
	reads := []string{"Open", "ReadFile", "ReadDir", "Stat", "Lstat", "Getenv", "Exit", "Args", "File", "Stdin", "Stdout", "Stderr", "ErrNotExist", "Interrupt"}
	seen := false
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		seen = seen || s.room == writesFiles
		if s.room == writesFiles {
			continue
		}
		for _, path := range s.imports() {
			if path == "io/ioutil" || path == "os/exec" || path == "syscall" && s.path != "cmd/fencepost/explore.go" {
				t.Errorf("%s imports %s", s.path, path)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" && !slices.Contains(reads, sel.Sel.Name) {
					t.Errorf("%s: os.%s does not only read", s.set.Position(n.Pos()), sel.Sel.Name)
				}
			}
			return true
		})
	}
	if !seen {
		t.Errorf("there is no room %s", writesFiles)
	}
}

func TestFunctionsAndFilesFitTheHead(t *testing.T) {
	const maxFunction, maxFile = 60, 450
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if lines := s.set.File(s.file.Pos()).LineCount(); lines > maxFile {
			t.Errorf("%s has %d lines", s.path, lines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if lines := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1; lines > maxFunction {
				t.Errorf("%s: %s has %d lines", s.path, f.Name.Name, lines)
			}
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver(d))) {
					t.Errorf("%s: %s has no comment", s.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: %s has no comment", s.path, ts.Name.Name)
					}
				}
			}
		}
	}
}

func receiver(d *ast.FuncDecl) string {
	name := fmt.Sprint(d.Recv.List[0].Type)
	if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
		name = fmt.Sprint(star.X)
	}
	return name
}

func TestTopLevelHoldsOnlyWhatItMay(t *testing.T) {
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	may := []string{"go.mod", "go.sum", "sim", "nemesis", "checker", "scenarios", "cmd", "reports", "README.md", "LICENSE", "_runs"}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(may, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}

// TestOnlyWideIntegers builds the lowest room for a platform whose int has 32 bits: the compiler says what is wrong.
func TestOnlyWideIntegers(t *testing.T) {
	c := exec.Command("go", "build", "../../checker/history")
	c.Env = append(os.Environ(), "GOARCH=386")
	if text, err := c.CombinedOutput(); err == nil || !strings.Contains(string(text), "fencepost_needs_a_64_bit_platform") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestNoFusedArithmetic compiles for a platform on which a product and a sum may become one step, and finds none in what draws and
// counts: the same run gives the same page everywhere.
func TestNoFusedArithmetic(t *testing.T) {
	if !full() {
		t.Skip("it compiles for another platform")
	}
	c := exec.Command("go", "build", "-gcflags="+module+"...=-S", "./reports/...", "./checker/...", "./nemesis/...", "./sim/...", "./scenarios/...")
	c.Dir, c.Env = "../..", append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for line := range strings.Lines(string(text)) {
		fused := strings.Contains(line, "\tFMADD") || strings.Contains(line, "\tFMSUB") || strings.Contains(line, "\tFNMADD") ||
			strings.Contains(line, "\tFNMSUB")
		if fused {
			t.Error(strings.TrimSpace(line))
		}
	}
	if !strings.Contains(string(text), "\tFADDD") {
		t.Error("no code was seen")
	}
}
