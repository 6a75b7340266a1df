//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// withQuick creates a folder with the scenario "quick".
func withQuick(b *testing.B) string {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "quick.yaml"), []byte(quick), 0o600); err != nil {
		b.Fatal(err)
	}
	return dir
}

// spent returns a finished process's processor time, including all processes that it started.
func spent(c *exec.Cmd) time.Duration { return c.ProcessState.UserTime() + c.ProcessState.SystemTime() }

// done runs a command. The benchmark fails if the command ends without a report.
func done(b *testing.B, c *exec.Cmd) {
	b.Helper()
	if got := call(b, c); got.code != exitExpected && got.code != exitOtherwise {
		b.Fatalf("exit %d: %s", got.code, got.problems)
	}
}

// BenchmarkCost measures the processor time per seed in a campaign and in "fencepost explore". It alternates the two,
// so that both run under the same conditions. The time includes all of a command's processes, from its start to its
// report.
func BenchmarkCost(b *testing.B) {
	const seeds = "200000"
	var explore, campaign time.Duration
	for b.Loop() {
		dir := withQuick(b)
		c := program(b, dir, "fencepost", "explore", "quick.yaml", "--seeds", seeds, "--out", "one")
		done(b, c)
		explore += spent(c)
		c = campaignOf(b, dir, "run", "quick.yaml", "--seeds", seeds, "--out", "many")
		done(b, c)
		campaign += spent(c)
	}
	n, _ := strconv.Atoi(seeds)
	b.ReportMetric(float64(explore.Microseconds())/float64(b.N*n), "µs/seed-explore")
	b.ReportMetric(float64(campaign.Microseconds())/float64(b.N*n), "µs/seed-campaign")
	b.ReportMetric(float64(campaign)/float64(explore), "campaign/explore")
}

// BenchmarkTwoWorkers measures how much faster two worker processes are than one. For comparison, it measures the same
// for processes that only count.
func BenchmarkTwoWorkers(b *testing.B) {
	var took [2]time.Duration
	var loop [2]time.Duration
	for b.Loop() {
		for i := range took {
			dir := withQuick(b)
			began := time.Now()
			done(b, campaignOf(b, dir, "run", "kleppmann-gc-pause", "--seeds", "400000", "--out", "x",
				"--workers", fmt.Sprint(i+1)))
			took[i] += time.Since(began)
			began = time.Now()
			counting(b, i+1)
			loop[i] += time.Since(began) / time.Duration(i+1)
		}
	}
	b.ReportMetric(took[0].Seconds()/float64(b.N), "s/one")
	b.ReportMetric(took[1].Seconds()/float64(b.N), "s/two")
	b.ReportMetric(float64(took[0])/float64(took[1]), "two/one")
	b.ReportMetric(float64(loop[0])/float64(loop[1]), "two/one-loop")
}

// counting starts processes that all count to the same number at the same time, and waits until they are done.
func counting(b *testing.B, processes int) {
	var all []*exec.Cmd
	for range processes {
		c := exec.Command("sh", "-c", "i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done")
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemory measures the peak memory use of a worker, and of the process with the server and the coordinator. It
// repeats this with more and more seeds, up to the number in the environment variable FENCEPOST_SEEDS (by default a
// million).
func BenchmarkMemory(b *testing.B) {
	most, err := strconv.Atoi(os.Getenv("FENCEPOST_SEEDS"))
	if err != nil {
		most = 1_000_000
	}
	for seeds := 100_000; seeds <= most; seeds *= 10 {
		b.Run(fmt.Sprint(seeds), func(b *testing.B) {
			for b.Loop() {
				dir := withQuick(b)
				k := &killed{t: b, dir: dir, workers: make([]*exec.Cmd, 2), start: []string{"start", "quick.yaml",
					"--seeds", fmt.Sprint(seeds), "--out", "x", "--name", "killed"}}
				began := time.Now()
				k.serve()
				for i := range k.workers {
					k.work(i)
				}
				waitFor(b, k.says, "the campaign is over")
				b.ReportMetric(float64(seeds)/time.Since(began).Seconds(), "seeds/s")
				worker := int64(0)
				for _, w := range k.workers {
					if err := w.Wait(); err != nil {
						b.Fatal(err)
					}
					worker = max(worker, w.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
				}
				store := size(stored(b, storeIn(filepath.Join(dir, "x"))))
				k.server.Process.Signal(os.Interrupt)
				k.server.Wait()
				b.ReportMetric(float64(k.server.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, "MiB-server")
				b.ReportMetric(float64(worker)/1024, "MiB-worker")
				b.Logf("%d seeds: the store has %s", seeds, store)
			}
		})
	}
}

func stored(b *testing.B, dir string) (n uint64) {
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += uint64(info.Size())
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
