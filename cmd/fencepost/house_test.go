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
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

const module = "github.com/fencepost-sim/fencepost/"

// floors lists the repository's layers, from bottom to top. A package may import only packages from its own layer and
// lower ones. In these tests, "room" means package.
var floors = []string{"checker", "sim", "nemesis", "reports", "scenarios", "cmd"}

// goWorkers is the folder with the client programs for live runs. Two of these programs are Go modules.
const goWorkers = "scenarios/live/workers"

// campaigns is the program that distributes searches over several machines.
const campaigns = "cmd/fencepost-campaign"

// nested lists the modules inside this one. They contain code with dependencies that users should not have to compile:
// tests, the Go workers, and the campaign program. No package in the main module imports them.
var nested = []string{campaigns, "reports/browser", goWorkers + "/client-go", goWorkers + "/redsync",
	"scenarios/locktest/ensembles", "scenarios/locktest/kubernetes", "scenarios/locktest/libraries"}

func isNested(room string) bool {
	return slices.ContainsFunc(nested, func(module string) bool { return within(module, room) })
}

// within reports whether room is the package outer or a package inside it.
func within(outer, room string) bool { return room == outer || strings.HasPrefix(room, outer+"/") }

func TestModulesInsideHoldOnlyTestsAndPrograms(t *testing.T) {
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
		program := within(goWorkers, s.room) || within(campaigns, s.room)
		if isNested(s.room) && !s.test && !program && len(s.file.Decls) > 0 {
			t.Errorf("%s: a module inside holds tests and a package comment, no more", s.path)
		}
		for _, path := range s.imports() {
			if room, ours := strings.CutPrefix(path, module); ours && isNested(room) &&
				!(within(campaigns, s.room) && within(campaigns, room)) {
				t.Errorf("%s imports %s", s.path, path)
			}
		}
	}
}

// testsOnly lists those of this module's packages that only tests may import.
var testsOnly = []string{"checker/slow", "checker/testkit", "reports/reporttest", "scenarios/campaign/campaigntest",
	"scenarios/claims", "scenarios/live/fleet/fleettest", "scenarios/locktest/homemade",
	"scenarios/locktest/matrixtest", "scenarios/single/singletest"}

// TestRoomsImportOnlyWhatStandsBelow checks that no package imports one from a higher layer. It also checks that only
// tests import the packages in testsOnly. These are unsuitable for other code: for example, checker/slow is slow, and
// checker/testkit has a flag and an init function that are only for tests.
func TestRoomsImportOnlyWhatStandsBelow(t *testing.T) {
	floor := func(room string) int {
		name, _, _ := strings.Cut(room, "/")
		return slices.Index(floors, name)
	}
	for _, s := range sources(t) {
		for _, path := range s.imports() {
			room, ours := strings.CutPrefix(path, module)
			switch {
			case !ours || isNested(s.room) || s.test:
			case floor(room) > floor(s.room):
				t.Errorf("%s imports %s, which stands above it", s.path, room)
			case slices.Contains(testsOnly, room) && !slices.Contains(testsOnly, s.room):
				t.Errorf("%s imports %s, which is for tests", s.path, room)
			}
		}
	}
}

// TestOneFlagAndOneSize checks that only package testkit reads the flag that rewrites golden files and the variable
// that selects a full run, so that they mean the same everywhere. The browser tests are exempt because they share no
// code with this module.
func TestOneFlagAndOneSize(t *testing.T) {
	var ours []string
	for _, s := range sources(t) {
		if within("reports/browser", s.room) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, _ := sel.X.(*ast.Ident)
			arg, _ := call.Args[0].(*ast.BasicLit)
			switch {
			case x == nil || arg == nil:
			case x.Name == "flag" && strings.Contains(arg.Value, "update"),
				x.Name == "os" && arg.Value == `"FENCEPOST_FULL"`:
				if s.room == "checker/testkit" && !s.test {
					ours = append(ours, x.Name)
				} else if s.test {
					t.Errorf("%s: %s.%s(%s): testkit has it", s.set.Position(n.Pos()), x.Name, sel.Sel.Name, arg.Value)
				}
			}
			return true
		})
	}
	if slices.Sort(ours); !slices.Equal(ours, []string{"flag", "os"}) {
		t.Errorf("testkit reads the flag and the variable once each, not by %v", ours)
	}
}

// onlyIn lists library functions that only the given file may call. Other files call that file's functions instead, so
// that all input is parsed in the same way.
var onlyIn = map[string]string{"time.ParseDuration": "nemesis/quantity.go"}

// parsesDurations lists the files that parse durations the way a server does: Consul's API takes Go durations.
var parsesDurations = []string{"sim/consul/call.go"}

func TestWhatIsReadInOnePlace(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || within(goWorkers, s.room) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			switch name := x.Name + "." + sel.Sel.Name; {
			case onlyIn[name] == s.path:
				seen[name] = true
			case onlyIn[name] != "" && !slices.Contains(parsesDurations, s.path):
				t.Errorf("%s: %s: %s has it", s.set.Position(n.Pos()), name, onlyIn[name])
			}
			return true
		})
	}
	if len(seen) != len(onlyIn) {
		t.Errorf("of %v only %v are used", onlyIn, seen)
	}
}

// onHost lists the packages that may use the host's files, clock and processes. The packages in their subfolders may do
// so too.
var onHost = []string{"checker/recorder", "checker/safefile", "checker/testkit", "cmd", "reports", "sim/bubble",
	"sim/traced", "scenarios/campaign", "scenarios/claims", "scenarios/live", "scenarios/locktest",
	"scenarios/remote", "scenarios/temporary"}

// simulated reports whether a package must not use the host's files, clock or processes.
func simulated(room string) bool {
	return !slices.ContainsFunc(onHost, func(host string) bool {
		return room == host || strings.HasPrefix(room, host+"/")
	})
}

// readsFiles is the only file in a simulated package that may import os, because it loads scenario files.
const readsFiles = "scenarios/file.go"

type source struct {
	path string
	room string
	test bool
	file *ast.File
	set  *token.FileSet
}

// sources returns every Go file in the repository. The files are parsed once and shared by all tests, which do not
// change them.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsedSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parsedSources = sync.OnceValues(func() (all []source, err error) {
	const root = "../.."
	set := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name()[0] == '.' || d.Name()[0] == '_' || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		all = append(all, source{rel, filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(path, "_test.go"), file,
			set})
		return nil
	})
	return all, err
})

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

func TestSimulatedCodeTakesNothingFromTheHost(t *testing.T) {
	forbidden := map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	}
	banned := []string{"math/rand", "math/rand/v2", "hash/maphash", "crypto/rand", "net", "net/http", "os/exec"}
	rooms := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !simulated(s.room) {
			continue
		}
		rooms[s.room] = true
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
	for _, room := range []string{"checker", "sim", "nemesis", "scenarios"} {
		if !rooms[room] {
			t.Errorf("package %s is not examined", room)
		}
	}
}

// writesFiles is the only package that may change the user's files.
const writesFiles = "checker/safefile"

// writesPrivately lists the files with code that writes files for the servers and clients in live runs, and for the go
// command. It writes only to folders that were created for this purpose and that no other user can enter.
var writesPrivately = []string{"scenarios/live/consulserver/cluster.go", "scenarios/live/etcdserver/fleet.go",
	"scenarios/live/fleet/fleet.go",
	"scenarios/live/process/appendonly.go", "scenarios/live/process/identity.go",
	"scenarios/live/process/main_linux.go", "scenarios/live/process/shim.go",
	"scenarios/live/redisserver/program.go", "scenarios/live/zkserver/ensemble.go",
	"scenarios/live/zkserver/program.go", "cmd/site/browser.go", "cmd/site/slim.go", "cmd/site/wasm.go"}

// makesFolders is the package that creates temporary folders, and removes those left behind by killed processes.
const makesFolders = "scenarios/temporary"

// becomesCampaign is the file with the code that replaces this process with the campaign program.
const becomesCampaign = "cmd/fencepost/campaign.go"

// underTests lists the packages that start processes and are called by users' tests.
var underTests = []string{"scenarios/locktest", "scenarios/remote"}

// inRealTime reports whether a package is for live runs, which start programs, listen on ports for them, and write
// files for them.
func inRealTime(room string) bool {
	return room == "scenarios/live" || strings.HasPrefix(room, "scenarios/live/")
}

// callsSystem lists the files that call the operating system directly: to get the terminal size, to measure processor
// time, to return the same errors as a real connection, and to start a traced process.
var callsSystem = []string{"cmd/output/screen.go", "cmd/processor/processor_unix.go", "sim/bubble/conn.go",
	"sim/traced/process.go"}

// TestOnlyOneRoomWritesFiles checks that only one package writes files. Code that opens a file for writing on its own
// would not handle a symbolic link with the same name, or a program that is killed while it is writing. Packages that
// start programs may also create temporary folders. The campaign program's package comment describes the files that it
// writes.
func TestOnlyOneRoomWritesFiles(t *testing.T) {
	reads := []string{"Open", "ReadFile", "ReadDir", "Stat", "Lstat", "Getenv", "Exit", "Args", "Executable", "File",
		"Stdin", "Stdout", "Stderr", "ErrNotExist", "ErrDeadlineExceeded", "Interrupt", "Signal", "Hostname", "Getpid",
		"Getuid", "O_CREATE", "O_RDONLY", "SameFile", "ErrExist", "DirFS", "Readlink", "DevNull"}
	writes := []string{"Chmod", "Create", "CreateTemp", "Link", "Mkdir", "MkdirAll", "OpenFile", "OpenRoot", "Rename",
		"Symlink", "Truncate", "WriteFile"}
	seen := false
	for _, s := range sources(t) {
		if s.test || s.room == writesFiles || slices.Contains(testsOnly, s.room) || within(campaigns, s.room) ||
			s.room == makesFolders || s.path == becomesCampaign || slices.Contains(writesPrivately, s.path) {
			seen = seen || s.room == writesFiles
			continue
		}
		if slices.Contains(underTests, s.room) || inRealTime(s.room) {
			ast.Inspect(s.file, func(n ast.Node) bool {
				if x, name := ofPackage(n); x == "os" && slices.Contains(writes, name) {
					t.Errorf("%s: os.%s: %s writes files", s.set.Position(n.Pos()), name, writesFiles)
				}
				return true
			})
			continue
		}
		for _, path := range s.imports() {
			if path == "io/ioutil" || path == "os/exec" ||
				path == "syscall" && !slices.Contains(callsSystem, s.path) {
				t.Errorf("%s imports %s", s.path, path)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if x, name := ofPackage(n); x == "os" && !slices.Contains(reads, name) {
				t.Errorf("%s: os.%s does not only read", s.set.Position(n.Pos()), name)
			}
			return true
		})
	}
	if !seen {
		t.Errorf("there is no room %s", writesFiles)
	}
}

// ofPackage returns "os" and "Open" for an expression such as os.Open. For any other node it returns empty strings.
func ofPackage(n ast.Node) (pkg, name string) {
	if sel, ok := n.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name, sel.Sel.Name
		}
	}
	return "", ""
}

// prints lists the files that write to standard output: the frame, through which commands print their results, and the
// commands that print a file or document unchanged.
var prints = []string{"cmd/fencepost/check.go", "cmd/output/frame.go", "cmd/fencepost/init.go",
	"cmd/fencepost/play.go", "cmd/fencepost/show.go"}

// TestResultsAreEmittedInOnePlace checks that commands do not print their results on their own. Otherwise they might
// not support all formats that users can ask for.
func TestResultsAreEmittedInOnePlace(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !strings.HasPrefix(s.room, "cmd/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "OutOrStdout" {
				if seen[s.path] = true; !slices.Contains(prints, s.path) {
					t.Errorf("%s prints by itself", s.set.Position(n.Pos()))
				}
			}
			return true
		})
	}
	for _, path := range prints {
		if !seen[path] {
			t.Errorf("%s prints nothing", path)
		}
	}
}

// laysOut is the only package that measures the width of text on a terminal, in order to wrap and clip it.
const laysOut = "reports/text"

// TestOneRoomMeasuresText checks that only laysOut measures text. A layout that counts characters is wrong for scripts
// with characters that are two cells wide.
func TestOneRoomMeasuresText(t *testing.T) {
	seen := false
	for _, s := range sources(t) {
		floor, _, _ := strings.Cut(s.room, "/")
		if s.test || floor != "reports" && floor != "cmd" {
			continue
		}
		measures := slices.Contains(s.imports(), "github.com/clipperhouse/displaywidth")
		if s.room == laysOut {
			seen = seen || measures
			continue
		}
		if measures {
			t.Errorf("%s measures text by itself", s.path)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				if strings.HasPrefix(f.Sel.Name, "RuneCount") {
					t.Errorf("%s counts characters", s.set.Position(n.Pos()))
				}
			case *ast.Ident:
				if f.Name == "len" && isRunes(call.Args[0]) {
					t.Errorf("%s counts characters", s.set.Position(n.Pos()))
				}
			}
			return true
		})
	}
	if !seen {
		t.Errorf("nothing in %s measures text", laysOut)
	}
}

// isRunes reports whether an expression is a conversion to []rune.
func isRunes(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	list, ok := call.Fun.(*ast.ArrayType)
	if !ok {
		return false
	}
	of, ok := list.Elt.(*ast.Ident)
	return ok && of.Name == "rune"
}

func TestFunctionsAndFilesFitTheHead(t *testing.T) {
	const maxFunction, maxFile = 60, 600
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

// TestLinesFit120Columns checks that no line is longer than 120 columns; a tab counts as four. Raw strings are exempt
// because they are data, and directives because they cannot be wrapped.
func TestLinesFit120Columns(t *testing.T) {
	const most, tab = 120, 4
	long := 0
	for _, s := range sources(t) {
		data := map[int]bool{}
		lines := func(n ast.Node) {
			for line := s.set.Position(n.Pos()).Line; line <= s.set.Position(n.End()).Line; line++ {
				data[line] = true
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Value[0] == '`' {
				lines(lit)
			}
			return true
		})
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:") {
					lines(c)
				}
			}
		}
		text, err := os.ReadFile(filepath.Join("../..", s.path))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			columns := utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t")
			if columns > most && !data[i+1] {
				t.Errorf("%s:%d has %d columns", s.path, i+1, columns)
			}
			long = max(long, columns)
		}
	}
	if long < most {
		t.Errorf("the longest line seen has %d columns", long)
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
	may := []string{"go.mod", "go.sum", "sim", "nemesis", "checker", "scenarios", "cmd", "reports", "README.md",
		"LICENSE", "_runs"}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(may, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}

// TestOnlyWideIntegers builds the lowest package for a platform with 32-bit ints, and checks that the compiler's error
// says why that fails.
func TestOnlyWideIntegers(t *testing.T) {
	t.Parallel()
	c := exec.Command("go", "build", "../../checker/history")
	c.Env = append(os.Environ(), "GOARCH=386")
	if text, err := c.CombinedOutput(); err == nil ||
		!strings.Contains(string(text), "fencepost_needs_a_64_bit_platform") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestNoFusedArithmetic compiles for a platform with fused multiply-add instructions. It checks that code that draws or
// counts does not use them, so that the same run gives the same page everywhere.
func TestNoFusedArithmetic(t *testing.T) {
	testkit.FullOnly(t) // the test compiles for another platform
	c := exec.Command("go", "build", "-gcflags="+module+"...=-S", "./reports/...", "./checker/...", "./nemesis/...",
		"./sim/...", "./scenarios/...")
	c.Dir, c.Env = "../..", append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for line := range strings.Lines(string(text)) {
		fused := strings.Contains(line, "\tFMADD") || strings.Contains(line, "\tFMSUB") ||
			strings.Contains(line, "\tFNMADD") ||
			strings.Contains(line, "\tFNMSUB")
		if fused {
			t.Error(strings.TrimSpace(line))
		}
	}
	if !strings.Contains(string(text), "\tFADDD") {
		t.Error("no code was seen")
	}
}
