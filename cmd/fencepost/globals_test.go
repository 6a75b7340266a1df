package main

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// setGlobals lists, for each package, the functions that may change package variables. Most of them fill registries
// while the program is being initialized. The locktest functions run in a process that is started for a single test.
// They replace parts of the standard library that the code under test uses.
var setGlobals = map[string][]string{
	"checker":            {"register"},
	"checker/history":    {"RegisterService"},
	"checker/slow":       {"register"},
	"nemesis":            {"register"},
	"scenarios":          {"RegisterBackend"},
	"scenarios/compare":  {"Add"},
	"scenarios/locks":    {"Register"},
	"scenarios/locktest": {"newWorker", "nextCall"}, // nextCall counts the calls per test
}

// TestNoFunctionChangesAGlobal checks that functions do not change package variables. Everything that a run depends on
// is passed to it as an argument. If a run changed a variable, it would silently affect all other runs in the process.
func TestNoFunctionChangesAGlobal(t *testing.T) {
	globals := map[string][]string{} // the package variables of each package
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && !s.test {
				for _, spec := range g.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						globals[s.room] = append(globals[s.room], name.Name)
					}
				}
			}
		}
	}
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || s.test || f.Name.Name == "init" {
				continue
			}
			for _, name := range changed(s, f, globals[s.room]) {
				if used[s.room+" "+f.Name.Name] = true; !slices.Contains(setGlobals[s.room], f.Name.Name) {
					t.Errorf("%s: %s changes the variable %s of a package", s.set.Position(f.Pos()), f.Name.Name, name)
				}
			}
		}
	}
	for room, names := range setGlobals {
		for _, name := range names {
			if !used[room+" "+name] {
				t.Errorf("%s of %s changes no variable of a package", name, room)
			}
		}
	}
}

// changed lists the package variables that a function assigns to, in its own package and in others. A name that is
// declared anywhere in the function counts as local.
func changed(s source, f *ast.FuncDecl, globals []string) (names []string) {
	imported := map[string]bool{}
	for _, i := range s.file.Imports {
		if name := path.Base(strings.Trim(i.Path.Value, `"`)); i.Name == nil {
			imported[name] = true
		} else {
			imported[i.Name.Name] = true
		}
	}
	var assigned []ast.Expr
	local := map[string]bool{"_": true}
	declare := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				local[id.Name] = true
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				declare(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				declare(name)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				declare(n.Key, n.Value)
			} else {
				assigned = append(assigned, n.Key, n.Value)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				declare(n.Lhs...)
			} else {
				assigned = append(assigned, n.Lhs...)
			}
		case *ast.IncDecStmt:
			assigned = append(assigned, n.X)
		}
		return true
	})
	for _, e := range assigned {
		of, name := variable(e)
		if !local[of] && (slices.Contains(globals, of) || imported[of] && name != "") {
			names = append(names, strings.TrimSuffix(of+"."+name, "."))
		}
	}
	return names
}

// variable returns the variable that an expression belongs to, and the field name, if any.
func variable(e ast.Expr) (of, field string) {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			e, field = x.X, x.Sel.Name
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x.Name, field
		default:
			return "", ""
		}
	}
}
