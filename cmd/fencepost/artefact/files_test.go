package artefact

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func take(t *testing.T, dir string) *Files {
	t.Helper()
	f := New()
	if err := f.Take(dir, "run"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// TestNoFileOfOthersIsLost lets a command and a person write into one folder in random turns. Whatever the person has
// written last under a name is still there; what the command was refused, it says; and at the end of a call none of its
// own files is there but those that it has written in that call.
func TestNoFileOfOthersIsLost(t *testing.T) {
	names := []string{"plan.txt", "seed-1/plan.txt", "seed-1/notes.txt", "seed-2/plan.txt"}
	refused, stale := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		dir := t.TempDir()
		theirs := map[string]string{} // what the person has written
		ours := map[string]bool{}
		for range 6 {
			f := take(t, dir)
			now := map[string]bool{}
			for range r.IntN(8) {
				name := names[r.IntN(len(names))]
				path := filepath.Join(dir, name)
				switch r.IntN(5) {
				case 0: // the person writes
					theirs[name] = fmt.Sprint("theirs ", r.Uint64())
					delete(ours, name)
					delete(now, name)
					if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(theirs[name]), 0o666); err != nil {
						t.Fatal(err)
					}
				case 1: // or removes
					os.Remove(path)
					delete(theirs, name)
					delete(ours, name)
					delete(now, name)
				default:
					f.failed = nil
					f.Keep(File{name, fmt.Append(nil, "ours ", r.IntN(3))})
					_, taken := theirs[name]
					if (f.failure() != nil) != taken {
						t.Fatalf("seed %d: %s, written by a person: %t; %v", seed, name, taken, f.failure())
					}
					if taken {
						refused++
					} else {
						ours[name], now[name] = true, true
					}
				}
			}
			f.failed = nil
			if err := f.Finish(); err != nil {
				t.Fatal(err)
			}
			f.Close()
			for name := range ours {
				if !now[name] {
					stale++
					delete(ours, name)
				}
			}
			for _, name := range names {
				content, err := os.ReadFile(filepath.Join(dir, name))
				want, taken := theirs[name]
				switch {
				case taken && string(content) != want:
					t.Fatalf("seed %d: %s of a person is gone: %q, %v", seed, name, content, err)
				case !taken && (err == nil) != ours[name]:
					t.Fatalf("seed %d: %s is there: %t, written in this call: %t", seed, name, err == nil, ours[name])
				}
			}
		}
	}
	if refused == 0 || stale == 0 {
		t.Errorf("%d files were refused and %d stale", refused, stale)
	}
}

func TestOneProcessWritesIntoAFolder(t *testing.T) {
	dir := t.TempDir()
	first := take(t, dir)
	second := New()
	if err := second.Take(dir, "run"); err == nil ||
		!strings.Contains(err.Error(), "another fencepost is writing to the folder "+dir) {
		t.Errorf("%v", err)
	}
	second.Close()
	first.Close()
	take(t, dir)
}

// A process that was killed leaves the list with the sums of the old file and the new one, and either of them on disk.
func TestAKillBetweenListAndFileLosesNothing(t *testing.T) {
	for _, lies := range []string{"old", "new"} {
		dir := t.TempDir()
		f := take(t, dir)
		f.Keep(File{"exploration.json", []byte("old")})
		f.sums.add("exploration.json", sumOf([]byte("new")))
		if err := f.saveSums(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "exploration.json"), []byte(lies), 0o666); err != nil {
			t.Fatal(err)
		}
		f.Close()
		again := take(t, dir)
		again.Keep(File{"exploration.json", []byte("newer")})
		if err := again.Finish(); err != nil {
			t.Errorf("%s: %v", lies, err)
		}
		if s, err := readSums(filepath.Join(dir, sumsFile)); err != nil || len(s.of["exploration.json"]) != 1 {
			t.Errorf("%s: %v, %v", lies, s, err)
		}
	}
}

// Names in the list that lead out of the folder are not followed.
func TestTheListStaysInItsFolder(t *testing.T) {
	for _, name := range []string{"../x", "/etc/passwd", "a/../../x", ""} {
		path := filepath.Join(t.TempDir(), sumsFile)
		text := sumsTitle + "run, which\n" + sumOf(nil) + "  " + name + "\n"
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readSums(path); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// A link is not written through in the folder of a command, and is followed where a flag names it.
func TestLinks(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "page.html")
	f := take(t, dir)
	f.Write(other, Page, []byte("<p>one</p>\n"))
	link := filepath.Join(dir, "plan.txt")
	if err := os.Symlink(other, link); err != nil {
		t.Skip(err)
	}
	if err := f.Spare("plan.txt"); err == nil {
		t.Error("a link is no file of the folder")
	}
	f.Write(link, Page, []byte("<p>two</p>\n"))
	text, err := os.ReadFile(other)
	if err != nil || !strings.HasPrefix(string(text), "<p>two</p>\n") || f.failure() != nil {
		t.Errorf("%q, %v, %v", text, err, f.failure())
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

func TestADeviceIsWrittenTo(t *testing.T) {
	f := New()
	if err := f.Claim("junit", os.DevNull, Page); err != nil {
		t.Skip(err)
	}
	f.Write(os.DevNull, Page, []byte("x"))
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() || f.failure() != nil {
		t.Errorf("%v, %v, %v", info, err, f.failure())
	}
}

// TestNamesComeAfterSyncs reads the code: whoever renames a file has synced it, and syncs the folder then.
func TestNamesComeAfterSyncs(t *testing.T) {
	set := token.NewFileSet()
	renames := 0
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, d := range file.Decls {
			var calls []string
			ast.Inspect(d, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					switch f := c.Fun.(type) {
					case *ast.SelectorExpr:
						calls = append(calls, f.Sel.Name)
					case *ast.Ident:
						calls = append(calls, f.Name)
					}
				}
				return true
			})
			at := slices.Index(calls, "Rename")
			if at < 0 {
				continue
			}
			renames++
			if synced := slices.Index(calls, "Sync"); synced < 0 || synced > at ||
				!slices.Contains(calls[at:], "syncFolder") {
				t.Errorf("%s: a file is renamed, but not synced before, or its folder after: %v", name, calls)
			}
		}
	}
	if renames != 1 {
		t.Errorf("%d functions rename files", renames)
	}
}
