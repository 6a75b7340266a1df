package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// killed is a campaign whose processes may be killed and restarted.
type killed struct {
	t       testing.TB
	dir     string
	start   []string // arguments of the server process
	server  *exec.Cmd
	says    *os.File // standard error of the server process
	workers []*exec.Cmd
}

// serve starts the process that runs the server and coordinates the campaign.
func (k *killed) serve() {
	k.t.Helper()
	says, end, err := os.Pipe()
	if err != nil {
		k.t.Fatal(err)
	}
	k.server = campaignOf(k.t, k.dir, k.start...)
	k.server.Stderr = end
	if err := k.server.Start(); err != nil {
		k.t.Fatal(err)
	}
	end.Close()
	if k.says != nil {
		k.says.Close()
	}
	k.says = says
	waitFor(k.t, says, "the server of campaign")
}

// worker1 starts a single worker process for a campaign. The process ends when the test process does.
func worker1(t testing.TB, dir, file, name string) *exec.Cmd {
	t.Helper()
	a, err := access.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := program(t, dir, "fencepost-campaign", "work", "--"+childFlag, "--name", name)
	c.Stderr = os.Stderr
	life, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(life).Encode(a); err != nil {
		t.Fatal(err)
	}
	return c
}

// access returns the path of the file that says how to reach the server.
func (k *killed) access() string {
	return filepath.Join(storeIn(filepath.Join(k.dir, "x")), access.FileName)
}

// work starts a worker that replaces worker i.
func (k *killed) work(i int) {
	k.t.Helper()
	k.workers[i] = worker1(k.t, k.dir, k.access(), "killed")
}

// watch returns a channel that receives the subject of a worker's message whenever a worker asks for a portion of the
// search or stores a result.
func (k *killed) watch() <-chan string {
	k.t.Helper()
	a, err := access.ReadFile(k.access())
	if err != nil {
		k.t.Fatal(err)
	}
	nc, err := a.Connect("killer", nil)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(nc.Close)
	happened := make(chan string, 10_000)
	for _, subject := range []string{"fencepost.killed.parts.>", "$JS.API.CONSUMER.MSG.NEXT.fencepost_killed_work.>"} {
		if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
			select {
			case happened <- m.Subject:
			default:
			}
		}); err != nil {
			k.t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		k.t.Fatal(err)
	}
	return happened
}

// kill kills a process, like kill -9.
func kill(c *exec.Cmd) {
	c.Process.Kill()
	c.Wait()
}

// TestKillsChangeNothing kills workers and the server when a worker has just requested a portion of the search or
// stored its result. The other workers may be anywhere in their portions at these moments. While the server is down,
// some of its stored data is damaged. If the test can mount its own disk, that disk is sometimes full when the server
// is killed, or fills up while it is running. The report must equal that of a single process, byte for byte. In a full
// run, workers are killed 160 times and the server 40 times.
func TestKillsChangeNothing(t *testing.T) {
	t.Parallel()
	seeds := fmt.Sprint(testkit.Size(6000, 6000, 100_000))
	ofWorkers, ofServer := testkit.Size(8, 8, 160), testkit.Size(2, 2, 40)
	want, files := inOneProcess(t, "explore", "kleppmann-gc-pause", "--seeds", seeds)
	k := &killed{t: t, dir: t.TempDir(), workers: make([]*exec.Cmd, 2), start: []string{"start", "kleppmann-gc-pause",
		"--seeds", seeds, "--out", "x", "--patience", "1s", "--name", "killed"}}
	d := smallDisk(t, storeIn(filepath.Join(k.dir, "x")), 64)
	k.serve()
	happened := k.watch()
	for i := range k.workers {
		k.work(i)
	}
	random := rand.New(rand.NewPCG(1, 2))
	kills := make([]bool, ofWorkers+ofServer) // true if the server is killed
	for i := range ofServer {
		kills[i] = true
	}
	random.Shuffle(len(kills), func(i, k int) { kills[i], kills[k] = kills[k], kills[i] })
	servers := 0
	for _, server := range kills {
		for range 1 + random.IntN(3) {
			if s := <-happened; strings.Contains(s, "=20cut.") {
				t.Fatal("the campaign was too short for all kills")
			}
		}
		if !server {
			i := random.IntN(len(k.workers))
			kill(k.workers[i])
			k.work(i)
			continue
		}
		full := d != nil && servers%2 == 0
		if servers++; full {
			d.fill(0)
			if servers%4 == 1 {
				waitFor(t, k.says, "the server cannot store results")
			}
		}
		kill(k.server)
		if full {
			d.empty()
		}
		if servers%2 == 0 {
			damage(t, filepath.Join(k.dir, "x"), "killed", flipped(random.IntN))
		}
		k.serve()
	}
	waitFor(t, k.says, "the campaign is over")
	got := call(t, campaignOf(t, k.dir, "report", "--out", "x"))
	if got.out != want.out || got.code != want.code {
		t.Errorf("exit %d\n%s%s\nwant %d\n%s%s", got.code, got.out, got.problems, want.code, want.out, want.problems)
	}
	same(t, filesIn(t, filepath.Join(k.dir, "x")), files)
	for _, w := range k.workers {
		if err := w.Wait(); err != nil {
			t.Errorf("a worker ended with %s", err)
		}
	}
	k.server.Process.Signal(os.Interrupt)
	if err := k.server.Wait(); k.server.ProcessState.ExitCode() != want.code {
		t.Errorf("start ended with %v", err)
	}
}

// Workers exit without an error even if the server stops at the same time as the campaign. By then each worker has seen
// that the campaign is over.
func TestWorkersEndWellWhenTheServerEndsWithTheCampaign(t *testing.T) {
	t.Parallel()
	want, _ := inOneProcess(t, "explore", "fenced-gc-pause", "--seeds", "200")
	for range testkit.Size(3, 3, 20) {
		k := &killed{t: t, dir: t.TempDir(), workers: make([]*exec.Cmd, 2), start: []string{"start", "fenced-gc-pause",
			"--seeds", "200", "--out", "x", "--name", "killed"}}
		k.serve()
		for i := range k.workers {
			k.work(i)
		}
		waitFor(t, k.says, "the campaign is over")
		k.server.Process.Signal(os.Interrupt)
		for _, w := range k.workers {
			if err := w.Wait(); err != nil {
				t.Errorf("a worker ended with %s", err)
			}
		}
		if k.server.Wait(); k.server.ProcessState.ExitCode() != want.code {
			t.Errorf("start ended with %s, want %d", k.server.ProcessState, want.code)
		}
	}
}
