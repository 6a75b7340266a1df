package temporary

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// role is the name of an environment variable. If it is set, the test binary acts as a second process, and the value
// selects what it does.
const role = "FENCEPOST_TEMPORARY_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "holds":
		err = hold()
	case "makes many":
		err = makeMany()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hold creates a folder with a file, prints its path, and waits to be killed.
func hold() error {
	f, err := New()
	if err == nil {
		err = os.WriteFile(filepath.Join(f.Path(), "lock.test"), []byte("a program"), 0o700)
	}
	if err == nil {
		fmt.Println(f.Path())
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return err
}

// makeMany creates and closes folders. It fails if a new folder is not empty, or if a folder disappears while it is in
// use.
func makeMany() error {
	for range 50 {
		f, err := New()
		if err != nil {
			return err
		}
		if in, err := os.ReadDir(f.Path()); len(in) > 0 || err != nil {
			return fmt.Errorf("a new folder has %v: %v", in, err)
		}
		sweep()
		name := filepath.Join(f.Path(), "file")
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			return err
		}
		if text, err := os.ReadFile(name); string(text) != "text" {
			return fmt.Errorf("%q: %v", text, err)
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func process(as string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), role+"="+as)
	c.Stderr = os.Stderr
	return c
}

// alone creates a folder that replaces the system's temporary folder, and returns its path.
func alone(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	return dir
}

func names(t *testing.T, dir string) (all []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all
}

// TestAFolderLastsAsLongAsItsProcess checks that a folder stays until the process that created it ends, even if other
// processes clean up. Once that process has been killed, the next process removes the folder.
func TestAFolderLastsAsLongAsItsProcess(t *testing.T) {
	dir := alone(t)
	c := process("holds")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(strings.TrimSpace(line), "lock.test")
	for range 2 {
		f, err := New()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(binary); err != nil || len(names(t, dir)) != 2 {
		t.Errorf("%v, and there are %q", err, names(t, dir))
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	f, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if all := names(t, dir); len(all) != 2 {
		t.Errorf("there are %q", all)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// TestEachStateThatAKillLeavesIsRemoved checks that a folder is removed if its process was killed between any two steps
// in New and Close. It must be removed even if a program started by the process has created the folder again.
func TestEachStateThatAKillLeavesIsRemoved(t *testing.T) {
	dir := alone(t)
	for i, files := range [][]string{
		{suffix},
		{suffix, "/"},
		{suffix, "/lock.test"},
		{"/"},
		{"/go-build1/b001/main.a"},
	} {
		for _, name := range files {
			path := filepath.Join(dir, fmt.Sprint(prefix, i)) + name
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "/") {
				continue
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if made := names(t, dir); len(made) != 7 {
		t.Fatalf("there are %q", made)
	}
	sweep()
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// TestWhatIsNotItsOwnStays checks that files, links, folders with other names, and other users' folders are not
// removed.
func TestWhatIsNotItsOwnStays(t *testing.T) {
	dir := alone(t)
	precious := filepath.Join(t.TempDir(), "precious")
	want := []string{"fencepost-other", prefix + "file"}
	for _, path := range []string{precious, filepath.Join(dir, want[0])} {
		if err := os.MkdirAll(filepath.Join(path, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, want[1]), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" { // on Windows, only some users may create links
		for _, name := range []string{prefix + "link", prefix + "lock" + suffix} {
			want = append(want, name)
			if err := os.Symlink(precious, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if runtime.GOOS != "windows" && os.Geteuid() == 0 {
		const nobody = 65534
		for _, name := range []string{prefix + "1", prefix + "2" + suffix} {
			want = append(want, name)
			path := filepath.Join(dir, name)
			if err := errors.Join(os.Mkdir(path, 0o700), os.Chown(path, nobody, nobody)); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweep()
	if got := names(t, dir); len(got) != len(want) {
		t.Errorf("of %q there is %q", want, got)
	}
	if in := names(t, precious); len(in) != 1 {
		t.Errorf("through a link, %q was left", in)
	}
}

// TestManyProcessesMakeFolders checks that no process removes a folder that another one is using, and that nothing is
// left behind.
func TestManyProcessesMakeFolders(t *testing.T) {
	dir := alone(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if err := process("makes many").Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
