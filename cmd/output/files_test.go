package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/safefile"
	"github.com/fencepost-sim/fencepost/checker/testkit"
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

// TestNoFileOfOthersIsLost makes a command and a person write to one folder in random order. Every file must still have
// the content that the person last wrote to it. The command must report each file that it could not write because the
// person had changed it. After a call, the only files from the command in the folder must be those written in that
// call.
func TestNoFileOfOthersIsLost(t *testing.T) {
	names := []string{"plan.txt", "seed-1/plan.txt", "seed-1/notes.txt", "seed-2/plan.txt"}
	refused, stale := 0, 0
	for seed := range uint64(testkit.Size(5, 20, 60)) {
		r := rand.New(rand.NewPCG(seed, 0))
		dir := t.TempDir()
		theirs := map[string]string{} // the latest content written by the person
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
				case 1: // the person removes
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
		!strings.Contains(err.Error(), "another fencepost process is writing to the folder "+dir) {
		t.Errorf("%v", err)
	}
	second.Close()
	first.Close()
	take(t, dir)
}

// TestAKillAtAnyChangeOfTheDisk stops two invocations of a command at each change that they make to the disk. Wherever
// they stop, each checksum that sha256sum would check must agree with its file, and the program must recognize each
// file as its own. The next invocation must leave exactly its own files.
func TestAKillAtAnyChangeOfTheDisk(t *testing.T) {
	killed := errors.New("killed")
	calls := [][][]File{
		{{{"plan.txt", []byte("old")}, {"seed-1/history.jsonl", []byte("old")}}, {{"verdict.json", []byte("old")}},
			{{"verdict.json", []byte("older")}}},
		{{{"plan.txt", []byte("new")}, {"seed-2/history.jsonl", []byte("new")}}, {{"verdict.json", []byte("old")}}},
	}
	changes := 0
	for at := 0; ; at++ {
		dir := t.TempDir()
		left := at
		var f *Files
		for _, keeps := range calls {
			if left < 0 {
				break
			}
			f = take(t, dir)
			f.folder.Before = func(string) error {
				if left--; left < 0 {
					return killed
				}
				return nil
			}
			for _, files := range keeps {
				f.Keep(files...)
			}
			f.Finish()
			f.lock.Close() // what happens to the lock when a process ends
		}
		agree(t, dir, at)
		again := take(t, dir)
		again.Keep(calls[1][0]...)
		if err := again.Finish(); err != nil {
			t.Fatalf("killed at change %d: %v", at, err)
		}
		again.Close()
		if got, want := agree(t, dir, at), []string{"plan.txt", "seed-2/history.jsonl"}; !slices.Equal(got, want) {
			t.Fatalf("killed at change %d: the next call leaves %v", at, got)
		}
		if left >= 0 {
			break
		}
		changes++
	}
	if changes < 40 {
		t.Errorf("%d changes were tried", changes)
	}
}

// agree checks that the checksums in a folder agree with its files. It returns the names of the files that have a
// checksum.
func agree(t *testing.T, dir string, at int) (checked []string) {
	t.Helper()
	folder, err := safefile.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	s, err := readSums(folder)
	if err != nil {
		t.Fatalf("killed at change %d: %v", at, err)
	}
	for _, name := range s.names() {
		content, err := folder.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if !s.unsteady[name] {
			checked = append(checked, name)
		}
		if content != nil && !slices.Contains(s.of[name], sumOf(content)) ||
			!s.unsteady[name] && (content == nil || len(s.of[name]) != 1) {
			t.Errorf("killed at change %d: %s holds %q, known as %v", at, name, content, s)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		name = filepath.ToSlash(name)
		if err == nil && !d.IsDir() && s.of[name] == nil && name != sumsFile && name != lockFile &&
			!strings.HasPrefix(name, ".fencepost-new-") {
			t.Errorf("killed at change %d: %s is not known", at, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// A checksum list is rejected if one of its names leads out of the folder.
func TestTheListStaysInItsFolder(t *testing.T) {
	for _, name := range []string{"../x", "/etc/passwd", "a/../../x", ""} {
		folder, err := safefile.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		text := sumsTitle + "run, which\n" + sumOf(nil) + "  " + name + "\n"
		if err := folder.Write(sumsFile, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := readSums(folder); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// The command does not write through a link in its folder, but does follow a link named by a flag.
func TestLinks(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "page.html")
	f := take(t, dir)
	f.write(other, webPage, []byte("<p>one</p>\n"))
	link := filepath.Join(dir, "plan.txt")
	if err := os.Symlink(other, link); err != nil {
		t.Skip(err)
	}
	if err := f.Spare("plan.txt"); err == nil {
		t.Error("a link is no file of the folder")
	}
	f.write(link, webPage, []byte("<p>two</p>\n"))
	text, err := os.ReadFile(other)
	if err != nil || !strings.HasPrefix(string(text), "<p>two</p>\n") || f.failure() != nil {
		t.Errorf("%q, %v, %v", text, err, f.failure())
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

// TestLinksThatLieInWait uses a folder that came from another person. In it, one path to which a command may write (a
// file, a subfolder, the checksums or the lock file) is a link to one of the user's files. The user's file must stay
// unchanged, and nothing may be created next to it.
func TestLinksThatLieInWait(t *testing.T) {
	for _, name := range []string{"plan.txt", "seed-1", "seed-1/plan.txt", sumsFile, lockFile, ".fencepost-new"} {
		for _, there := range []bool{true, false} {
			dir, theirs := t.TempDir(), t.TempDir()
			target := theirs
			if name != "seed-1" {
				target = filepath.Join(theirs, "bashrc")
			}
			if there && target != theirs {
				if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			link := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, link); err != nil {
				t.Skip(err)
			}
			f := New()
			if err := f.Take(dir, "run"); err == nil {
				f.Keep(File{"plan.txt", []byte("ours")})
				f.Keep(File{"seed-1/plan.txt", []byte("ours")})
				f.Finish()
			}
			f.Close()
			list, err := os.ReadDir(theirs)
			text, missing := os.ReadFile(target)
			written := name != "seed-1" && there && (missing != nil || string(text) != "theirs")
			if err != nil || written || !there && len(list) > 0 {
				t.Errorf("through %s, to what is there: %t: %q, %v", name, there, text, list)
			}
		}
	}
}

// A link whose target does not exist is not followed, even if a flag names the link.
func TestALinkToNowhereIsRefused(t *testing.T) {
	link := filepath.Join(t.TempDir(), "page.html")
	if err := os.Symlink(filepath.Join(t.TempDir(), "x"), link); err != nil {
		t.Skip(err)
	}
	if err := New().claim("html", link, webPage); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
}

// TestADeviceIsWrittenTo checks that a flag may name a device or a pipe, even if no file can be created in its folder.
func TestADeviceIsWrittenTo(t *testing.T) {
	f := New()
	if err := f.claim("junit", os.DevNull, webPage); err != nil {
		t.Fatal(err)
	}
	f.write(os.DevNull, webPage, []byte("x"))
	if runtime.GOOS == "linux" {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		path := fmt.Sprintf("/proc/self/fd/%d", w.Fd())
		if err := f.claim("html", path, webPage); err != nil {
			t.Fatal(err)
		}
		f.write(path, webPage, []byte("x"))
		w.Close()
		if text, err := io.ReadAll(r); string(text) != string(seal([]byte("x"))) || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() || f.failure() != nil {
		t.Errorf("%v, %v, %v", info, err, f.failure())
	}
}
