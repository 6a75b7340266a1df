//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// disk is a small file system mounted on a folder.
type disk struct {
	t   testing.TB
	dir string
}

// mountDisk mounts a file system of the given size, in MiB, on a folder. It fails unless the test is run as root.
func mountDisk(t testing.TB, dir string, mib int) (*disk, error) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=700", mib))
	if err != nil {
		return nil, fmt.Errorf("a disk is mounted for this test, for which one must be root: %w", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return &disk{t, dir}, nil
}

// newDisk mounts a disk, or skips the test if that is impossible.
func newDisk(t testing.TB, dir string, mib int) *disk {
	t.Helper()
	d, err := mountDisk(t, dir, mib)
	if err != nil {
		testkit.Lacks(t, err)
	}
	return d
}

// smallDisk mounts a disk, or returns nil if that is impossible, so that the test can skip the steps that need one. A
// full run (see testkit.Full) fails instead.
func smallDisk(t testing.TB, dir string, mib int) *disk {
	t.Helper()
	d, err := mountDisk(t, dir, mib)
	if err != nil && testkit.Full() {
		t.Fatal(err)
	}
	return d
}

func (d *disk) filler() string { return filepath.Join(d.dir, "filler") }

// fill fills the disk, leaving the given number of KiB free.
func (d *disk) fill(spare int64) {
	d.t.Helper()
	f, err := os.Create(d.filler())
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for some := make([]byte, 4096); err == nil; {
		_, err = f.Write(some)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Truncate(info.Size() - spare<<10)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// empty removes the file written by fill.
func (d *disk) empty() {
	d.t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.t.Fatal(err)
	}
}

// TestAFullDiskIsReportedAndOutlived checks that the server, the workers and the status command report the place and
// the reason if the disk is full while a campaign is running. When there is room again, they must all continue by
// themselves, and the report must equal that of a single process, byte for byte.
func TestAFullDiskIsReportedAndOutlived(t *testing.T) {
	t.Parallel()
	const seeds = "6000"
	dir := t.TempDir()
	store := storeIn(filepath.Join(dir, "x"))
	d := newDisk(t, store, 32)
	want, files := inOneProcess(t, "explore", "kleppmann-gc-pause", "--seeds", seeds)
	k := &killed{t: t, dir: dir, start: []string{"start", "kleppmann-gc-pause", "--seeds", seeds, "--out", "x",
		"--patience", "1s", "--name", "killed"}}
	k.serve()
	defer kill(k.server)
	a, err := access.ReadFile(k.access())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := a.Connect("watcher", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	stored := make(chan *nats.Msg, 10_000)
	if _, err := nc.ChanSubscribe("fencepost.killed.parts.>", stored); err != nil {
		t.Fatal(err)
	}
	crew := campaignOf(t, dir, "work", "--out", "x", "--workers", "2")
	says, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	crew.Stderr = end
	if err := crew.Start(); err != nil {
		t.Fatal(err)
	}
	defer crew.Process.Kill()
	end.Close()
	for range 3 {
		<-stored
	}
	d.fill(0)
	const trouble = "the server cannot store results, and all work waits: no space left on device in "
	for _, from := range []*os.File{k.says, says} {
		if line := waitFor(t, from, "the server cannot store results"); !strings.Contains(line, trouble+store+" on ") {
			t.Errorf("%q does not say where and why", line)
		}
	}
	got := call(t, campaignOf(t, dir, "status", "--out", "x", "--json"))
	var s struct{ Trouble string }
	if err := json.Unmarshal([]byte(got.out), &s); err != nil || !strings.HasPrefix(s.Trouble, trouble+store+" on ") {
		t.Errorf("status says of the trouble %q, %v\n%s", s.Trouble, err, got.problems)
	}
	d.empty()
	waitFor(t, k.says, "the server stores data again")
	waitFor(t, k.says, "the campaign is over")
	got = call(t, campaignOf(t, dir, "status", "--out", "x"))
	if strings.Contains(got.out, "cannot store") {
		t.Errorf("status still says of the trouble:\n%s", got.out)
	}
	got = call(t, campaignOf(t, dir, "report", "--out", "x"))
	if got.out != want.out || got.code != want.code {
		t.Errorf("exit %d\n%s%s\nwant %d\n%s", got.code, got.out, got.problems, want.code, want.out)
	}
	same(t, filesIn(t, filepath.Join(dir, "x")), files)
	if err := crew.Wait(); err != nil {
		t.Errorf("the workers ended with %s", err)
	}
}

// TestACampaignCannotBeginOnAFullDisk checks that a campaign that finds the disk full when it starts says so, and does
// not leave an unfinished file behind.
func TestACampaignCannotBeginOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := storeIn(filepath.Join(dir, "x"))
	d := newDisk(t, store, 16)
	d.fill(0)
	got := call(t, campaignOf(t, dir, "start", "kleppmann-gc-pause", "--out", "x"))
	if got.code != exitBadInput || !strings.Contains(got.problems, "no space left on device") ||
		!strings.Contains(got.problems, "x/nats") {
		t.Errorf("exit %d: %s", got.code, got.problems)
	}
	for _, name := range []string{access.FileName, access.FileName + ".new", "key.pem", "key.pem.new"} {
		if _, err := os.Lstat(filepath.Join(store, name)); err == nil {
			t.Errorf("%s was left", name)
		}
	}
	d.empty()
	c := campaignOf(t, dir, "start", "kleppmann-gc-pause", "--seeds", "10", "--out", "x")
	says, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer kill(c)
	waitFor(t, says, "workers join with")
}

// TestReportsOnAFullDiskAreWholeOrNamed checks what happens if the disk becomes full. Each of a report's files must be
// complete or missing, and the error must name the file and the reason.
func TestReportsOnAFullDiskAreWholeOrNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newDisk(t, filepath.Join(dir, "d"), 4)
	for _, args := range [][]string{
		{"explore", "kleppmann-gc-pause", "--seeds", "100"},
		{"run", "kleppmann-gc-pause"},
	} {
		_, whole := inOneProcess(t, args...)
		for _, spare := range []int64{0, 8, 24, 48} {
			d.fill(spare)
			got := call(t, program(t, dir, "fencepost", append(args, "--out", "d/x", "--html", "d/y/page.html")...))
			d.empty()
			if got.code != exitBadInput || !strings.Contains(got.problems, "d/") ||
				!strings.Contains(got.problems, "no space left on device") {
				t.Errorf("%v with %d KiB: exit %d: %s", args, spare, got.code, got.problems)
			}
			for name, text := range filesIn(t, d.dir) {
				report, ours := strings.CutPrefix(name, "x/")
				if ours && report != "fencepost.sums" && whole[report] != text {
					t.Errorf("%v with %d KiB: %s is neither whole nor away", args, spare, name)
				}
				if strings.Contains(name, "page") && !strings.HasSuffix(text, " -->\n") {
					t.Errorf("%v with %d KiB: %s is cut off", args, spare, name)
				}
			}
			if err := errors.Join(os.RemoveAll(filepath.Join(d.dir, "x")),
				os.RemoveAll(filepath.Join(d.dir, "y"))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
