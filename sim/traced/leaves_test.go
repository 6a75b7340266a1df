//go:build linux && amd64

package traced

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestNothingIsLeftBehind kills the tracing process at random times, after which none of the programs that it was
// running may be left. In a full test run, the test kills it 100 times.
func TestNothingIsLeftBehind(t *testing.T) {
	allowed(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range testkit.Size(2, 5, 100) {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "TRACED_TEST_LEAVES="+path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var pids []int
		in := bufio.NewScanner(out)
		for range random.IntN(12) + 1 { // kill it while it starts and runs programs
			if !in.Scan() {
				break
			}
			var pid int
			if _, err := fmt.Sscan(in.Text(), &pid); err != nil {
				t.Fatal(in.Text())
			}
			pids = append(pids, pid)
		}
		c.Process.Kill()
		for in.Scan() {
			var pid int
			if _, err := fmt.Sscan(in.Text(), &pid); err == nil {
				pids = append(pids, pid)
			}
		}
		c.Wait()
		if len(pids) == 0 {
			t.Fatal("no program was started")
		}
		end := time.Now().Add(time.Minute)
		for _, pid := range pids {
			for isProgram(pid, path) { // wait, because SIGKILL takes effect with a short delay
				if time.Now().After(end) {
					t.Fatalf("process %d is left", pid)
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// isProgram reports whether a process is running the given program.
func isProgram(pid int, path string) bool {
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return strings.TrimSuffix(exe, " (deleted)") == path
}

// leaves starts programs that never end, prints the process ID of each, and never ends itself.
func leaves(path string) {
	runtime.LockOSThread()
	tracer, err := NewTracer(0, 0)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		m := tracer.New(Options{Network: &echoNet{}})
		for i := range 3 {
			p, err := m.Start(Command{Name: fmt.Sprint("program-", i), Args: []string{path, "forever"}})
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println(p.pid)
			m.Run(m.Now()+time.Hour, func() bool { return false })
		}

		m.Close()
	}
}
