package locktest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/remote"
)

// hung is how long, on the host's clock, a worker may say nothing before it is killed. Honest runs take milliseconds.
const hung = time.Minute

// slots bounds the workers of all tests that run at once.
var slots = make(chan struct{}, runtime.NumCPU())

// explore divides the seeds among workers. A seed in which a worker hangs or dies fails; the others go on.
func (p *parent) explore(seeds []uint64) {
	workers := min(cap(slots), len(seeds))
	var all sync.WaitGroup
	for n := range workers {
		share := slices.Collect(func(yield func(uint64) bool) {
			for i := n; i < len(seeds); i += workers {
				if !yield(seeds[i]) {
					return
				}
			}
		})
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p.exploreShare(share)
		})
	}
	all.Wait()
}

func (p *parent) exploreShare(share []uint64) {
	for len(share) > 0 {
		began, done := uint64(0), false
		end := p.start(context.Background(), task{Test: p.t.Name(), Call: p.call, Seeds: share}, func(r report) {
			switch {
			case r.Began != 0:
				began = r.Began
			case r.Ran != nil:
				p.take(*r.Ran)
				share = slices.DeleteFunc(share, func(s uint64) bool { return s == r.Ran.Seed })
				began = 0
			case r.Problem != "":
				p.problem(r.Problem)
				done = true
			case r.Done:
				done = true
			}
		})
		switch {
		case done:
			return
		case began == 0:
			p.problem(fmt.Sprintf("a worker ended before its first run: %v", end))
			return
		}
		p.take(ran{Seed: began, Failure: end.Error()})
		share = slices.DeleteFunc(share, func(s uint64) bool { return s == began })
	}
}

// problem notes what is wrong beside single runs.
func (p *parent) problem(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, text)
}

func (p *parent) take(r ran) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs = append(p.runs, r)
}

func (p *parent) spent(cpu time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cpu += cpu
}

// start has a worker process do a task, hands out what it says, and returns why it ended.
func (p *parent) start(ctx context.Context, k task, take func(report)) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe, "-test.run="+remote.Pattern(p.t.Name()), "-test.count=1", "-test.v=false",
		"-locktest.plan="+*planFlag)
	cmd.Env = remote.Environ(environment + "=" + string(text))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	said := new(tail)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return err
	}
	limit := cmp.Or(p.config.hung, hung)
	silent := time.AfterFunc(hung, func() { // the first line may take longer: a process has to start
		said.hang(limit)
		_ = quit(cmd.Process) // or else it is killed
		time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
	})
	defer silent.Stop()
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			var r report
			if err := json.Unmarshal([]byte(rest), &r); err != nil {
				return err
			}
			silent.Reset(limit)
			take(r)
		} else {
			said.Write([]byte(line))
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			break
		}
	}
	err = cmd.Wait()
	p.spent(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	return said.ending(err)
}

// seedAsked is the seed in the pattern of -run, if it asks for one subtest of the test.
func seedAsked(test string) (seed uint64, one bool) {
	f := flag.Lookup("test.run")
	if f == nil {
		return 0, false
	}
	parts := strings.Split(f.Value.String(), "/")
	if at := strings.Count(test, "/") + 1; at < len(parts) {
		text, is := strings.CutPrefix(strings.Trim(parts[at], "^$"), "seed=")
		n, err := strconv.ParseUint(text, 10, 64)
		return n, is && err == nil
	}
	return 0, false
}
