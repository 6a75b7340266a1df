package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// forUsers lists the packages whose exported names are meant for programs outside this repository. In these tests,
// "room" means package.
var forUsers = []string{"checker/history", "checker/recorder", "scenarios/locktest"}

// neededAlone lists, by reason, the names that must be exported even though no other package uses them.
var neededAlone = map[string][]string{
	"the tests that explore writes for users call it": {"scenarios.CheckLaw", "scenarios.NotHeld"},
	"users learn from it why a call of theirs failed": {"sim.ErrProtocol", "sim/bubble.AddressError",
		"scenarios/live.ClientError",
		"scenarios/live/process.ErrGone", "scenarios/live/redisserver.ErrNoServer",
		"scenarios/live/process.ErrOld", "scenarios/live/process.ErrNoCompiler",
		"scenarios/live/redisserver.ErrAddress",
		"scenarios/live/redisserver.ErrNeedsPassword", "scenarios/live/redisserver.ErrWrongPassword",
		"scenarios/live/zkserver.ErrNoServer"},
	"package errors asks by it what an error is": {"scenarios/locks.RefusedError.Unwrap"},
	"its methods are what an interface promises, and are read here": {"sim.Process", "sim/bubble.Conn",
		"scenarios/live/redisserver.Server"},
	"real servers of each kind embed it": {"scenarios/live/fleet.Lives.Fault", "scenarios/live/fleet.Lives.Receive",
		"scenarios/live/fleet.Lives.Wake"},
	"the reference of the format is held to the grammar": {"nemesis.ExclusionUsage"},
	"tests hold all kinds of faults to it": {"nemesis/shrink.Simpler",
		"scenarios/sweep.Axis.Title"},
	"fuzz tests make plans of bytes by it": {"scenarios/search.Plans.PlanOf"},
	"tests of the documents hold their figures to it": {"scenarios/compare.Odds.Article",
		"scenarios/compare.Odds.Formula"},
	"tests of real servers run both sides by it": {"scenarios/live/agree.Row.Agrees",
		"scenarios/live/agree.Row.Differences"},
	"the table of what a search finds in the catalogue is measured by it": {"scenarios/search.Each"},
	"a test of what is printed writes files by it": {"cmd/output.New", "cmd/output.Files.Take",
		"cmd/output.Files.Close"},
	"the schema asks for it": {"scenarios/compare.timingJSON.Keys"},
	"tests of other packages name or show it": {"checker.ServerClock", "checker.Unsynced",
		"scenarios/single.Unbroken",
		"scenarios/sweep.Point.State"},
	"a backend in a package of its own registers itself by it": {"scenarios.RegisterBackend", "scenarios.Backend",
		"scenarios.Cluster", "scenarios.Tap.Before", "scenarios/locks.Register", "scenarios/compare.Add",
		"scenarios/compare.Contender"},
	"tests of the packages below nemesis share it": {"nemesis/nemesistest.Names"},
	"tests of sim/etcd look at the members":        {"sim/raft.Cluster.Members"},
	"tests of sim/zookeeper read and write by it": {"sim/zookeeper.Client.SetData",
		"sim/zookeeper.Client.Sync", "sim/zookeeper.Answer",
		"sim/zookeeper.ReadAnswer",
		"sim/zookeeper.ReadEvent"},
	"tests of sim/redis hold the scripts of a node to it": {"sim/redis.FindTwin",
		"sim/redis.WellKnown", "sim/redis.MaxCompiled", "sim/redis.MaxScripts"},
}

// TestExportedNamesHaveUsers checks that a name is not exported if only its own package uses it. A name counts as used
// in three cases: code in another package mentions it; it is part of something used, such as a type in a signature or a
// value of a type; or it is a method that an interface requires.
func TestExportedNamesHaveUsers(t *testing.T) {
	testkit.ThoroughOnly(t)
	t.Parallel()
	h := readHouse(t)
	alone := slices.Concat(slices.Collect(maps.Values(neededAlone))...)
	for _, name := range slices.Sorted(maps.Keys(h.exported)) {
		if !slices.Contains(alone, name) && !h.live[name] {
			t.Errorf("%s: %s is exported, and nothing outside of its room uses it", h.place(name), name)
		}
	}
	for _, name := range alone {
		if h.exported[name] == nil || h.live[name] {
			t.Errorf("%s needs no reason to be exported", name)
		}
	}
}

// house records the exported names that the packages declare and use. The keys are "package.Name" and
// "package.Type.Method".
type house struct {
	place    func(name string) string
	exported map[string]types.Object
	used     map[string]bool // names that another package uses
	live     map[string]bool // names that are used, or part of something used
	asks     map[string][]*types.Interface
}

func readHouse(t *testing.T) *house {
	t.Helper()
	h := &house{exported: map[string]types.Object{}, used: map[string]bool{}, live: map[string]bool{},
		asks: map[string][]*types.Interface{}}
	h.ask(types.Universe.Lookup("error").Type())
	files := map[string][]*ast.File{}
	all := sources(t)
	for _, s := range all {
		built, err := build.Default.MatchFile(filepath.Join("../..", s.room), filepath.Base(s.path))
		if err != nil {
			t.Fatal(err)
		}
		tests := isNested(s.room) && !within(campaigns, s.room)
		if built && s.test == tests && !within(goWorkers, s.room) {
			files[s.room] = append(files[s.room], s.file)
		}
	}
	set := all[0].set
	var pkgs []*types.Package
	h.place = func(name string) string { return set.Position(h.exported[name].Pos()).String() }
	// In a nested module, the type checker cannot find packages imported from outside this repository. These errors do
	// not matter.
	config := types.Config{Importer: importer.ForCompiler(set, "gc", exportData(t)), Error: func(error) {}}
	for _, room := range slices.Sorted(maps.Keys(files)) {
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
		pkg, err := config.Check(module+room, set, files[room], info)
		if err != nil && !isNested(room) {
			t.Fatal(err)
		}
		h.read(room, pkg, info)
		pkgs = append(pkgs, pkg)
	}
	seen := map[*types.Package]bool{}
	// This loop must come last. Until all packages have been checked, the types of packages that are only imported are
	// incomplete.
	for _, pkg := range pkgs {
		h.askAll(pkg, seen)
	}
	h.enliven()
	return h
}

// read records the names that a package declares and uses.
func (h *house) read(room string, pkg *types.Package, info *types.Info) {
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		h.note(o)
		if named, ok := o.Type().(*types.Named); ok && named.Obj() == o && !types.IsInterface(named) {
			for m := range named.Methods() {
				h.note(m)
			}
		}
	}
	for _, o := range info.Uses {
		if name := symbol(o); name != "" && o.Pkg().Path() != module+room {
			h.used[name] = true
		}
	}
	for e, of := range info.Types {
		if _, literal := e.(*ast.InterfaceType); literal {
			h.ask(of.Type)
		}
	}
}

func (h *house) note(o types.Object) {
	if name := symbol(o); o.Exported() && !isNested(roomOf(o)) {
		h.exported[name] = o
	}
}

// symbol returns an object's key. It returns "" for an object from outside this repository, and for one that is neither
// a method nor declared at package level.
func symbol(o types.Object) string {
	if o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), module) {
		return ""
	}
	room := roomOf(o)
	if o.Parent() == o.Pkg().Scope() {
		return room + "." + o.Name()
	}
	f, ok := o.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return ""
	}
	of := f.Signature().Recv().Type()
	if p, ok := of.(*types.Pointer); ok {
		of = p.Elem()
	}
	if named, ok := of.(*types.Named); ok {
		return room + "." + named.Obj().Name() + "." + o.Name()
	}
	return ""
}

func roomOf(o types.Object) string { return strings.TrimPrefix(o.Pkg().Path(), module) }

// askAll records the interfaces in a package and in all packages that it imports, directly or indirectly.
func (h *house) askAll(pkg *types.Package, seen map[*types.Package]bool) {
	if seen[pkg] {
		return
	}
	seen[pkg] = true
	for _, name := range pkg.Scope().Names() {
		if o, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok {
			h.ask(o.Type())
		}
	}
	for _, other := range pkg.Imports() {
		h.askAll(other, seen)
	}
}

func (h *house) ask(of types.Type) {
	if i, ok := of.Underlying().(*types.Interface); ok {
		for m := range i.Methods() {
			h.asks[m.Name()] = append(h.asks[m.Name()], i)
		}
	}
}

// isRequired reports whether an interface requires m, a method of an exported type.
func (h *house) isRequired(m *types.Func) bool {
	of := m.Signature().Recv().Type()
	if _, is := of.(*types.Pointer); !is {
		of = types.NewPointer(of)
	}
	return slices.ContainsFunc(h.asks[m.Name()], func(i *types.Interface) bool { return types.Implements(of, i) })
}

// enliven marks as live the exported names that are used, and the types that they consist of.
func (h *house) enliven() {
	for name, o := range h.exported {
		m, _ := o.(*types.Func)
		switch method := m != nil && m.Signature().Recv() != nil; {
		case h.used[name], slices.Contains(forUsers, roomOf(o)), slices.Contains(testsOnly, roomOf(o)),
			method && h.isRequired(m):
			h.liven(name)
		}
	}
	for name, o := range h.exported {
		_, isType := o.(*types.TypeName)
		of, named := o.Type().(*types.Named)
		if named && !isType && o.Pkg() == of.Obj().Pkg() && h.live[symbol(of.Obj())] {
			h.liven(name)
		}
	}
}

func (h *house) liven(name string) {
	o := h.exported[name]
	if o == nil || h.live[name] {
		return
	}
	h.live[name] = true
	if _, isType := o.(*types.TypeName); isType {
		h.parts(o.Type().Underlying())
	}
	h.parts(o.Type())
}

// parts marks the types that make up a type, if they belong to this repository and are visible to other packages.
func (h *house) parts(of types.Type) {
	switch of := of.(type) {
	case *types.Alias:
		h.liven(symbol(of.Obj()))
		h.parts(of.Rhs())
	case *types.Named:
		h.liven(symbol(of.Obj()))
		for arg := range of.TypeArgs().Types() {
			h.parts(arg)
		}
	case *types.Map:
		h.parts(of.Key())
		h.parts(of.Elem())
	case interface{ Elem() types.Type }:
		h.parts(of.Elem())
	case *types.Tuple:
		for v := range of.Variables() {
			h.parts(v.Type())
		}
	case *types.Signature:
		h.parts(of.Params())
		h.parts(of.Results())
		for p := range of.TypeParams().TypeParams() {
			h.parts(p.Constraint())
		}
	case *types.Struct:
		for f := range of.Fields() {
			if f.Exported() {
				h.parts(f.Type())
			}
		}
	case *types.Interface:
		for m := range of.Methods() {
			h.parts(m.Type())
		}
		for e := range of.EmbeddedTypes() {
			h.parts(e)
		}
	case *types.Union:
		for term := range of.Terms() {
			h.parts(term.Type())
		}
	}
}

// exportData returns a function that looks up the compiler's export data for a package.
func exportData(t *testing.T) importer.Lookup {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", "./...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		of[path] = file
	}
	return func(path string) (io.ReadCloser, error) {
		if of[path] == "" {
			return nil, fmt.Errorf("%s is not compiled", path)
		}
		return os.Open(of[path])
	}
}
