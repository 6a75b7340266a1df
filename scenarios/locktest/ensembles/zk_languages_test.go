//go:build linux

package ensembles

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/front"
)

// simulatedZooKeeper serves a simulated ensemble of three on ports of this machine, and returns their addresses.
func simulatedZooKeeper(t *testing.T) string {
	t.Helper()
	clock, err := realtime.NewHostClock()
	if err != nil {
		t.Fatal(err)
	}
	w := sim.New(1, sim.Options{Endless: true, Wall: clock.Begin().UnixNano()})
	members := []sim.ProcessID{"zookeeper-1", "zookeeper-2", "zookeeper-3"}
	zookeeper.NewEnsemble(zookeeper.Config{}, members).AddTo(w.AddServer)
	w.AddClient("programs", 0, func(env sim.Env) { env.Sleep(sim.Forever) })
	loop := realtime.NewLoop(w, clock)
	gate := realtime.NewGate(loop, front.ZooKeeper{}, "programs")
	var addresses []string
	for _, m := range members {
		at, err := gate.Listen("127.0.0.1", m)
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, at.String())
	}
	over, stop := make(chan struct{}), false
	go func() {
		defer close(over)
		loop.Run(sim.Time(sim.Forever), func() bool { return stop })
	}()
	t.Cleanup(func() {
		loop.Do(func() { stop = true })
		<-over
		gate.Close()
		clock.Close()
		if err := errors.Join(loop.Err(), w.Err()); err != nil {
			t.Error(err)
		}
	})
	return strings.Join(addresses, ",")
}

// zooKeepers are the servers that programs are put before.
var zooKeepers = map[string]func(*testing.T) string{"simulated": simulatedZooKeeper, "real": realZooKeeper}

// realZooKeeper starts Debian's ZooKeeper, alone, and returns its address.
func realZooKeeper(t *testing.T) string {
	t.Helper()
	needsJar(t, "zookeeper")
	address := freeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.Command("java", "-Xmx64m", "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.jmx.log4j.disable=true",
		"-cp", classes("zookeeper"), "org.apache.zookeeper.server.ZooKeeperServerMain", port, t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return address
}

// classes is where Debian has the classes of packages.
func classes(names ...string) string {
	var list []string
	for _, n := range names {
		list = append(list, "/usr/share/java/"+n+".jar")
	}
	for _, n := range []string{"slf4j-nop", "netty-codec", "netty-resolver", "guava", "failureaccess"} {
		list = append(list, "/usr/share/java/"+n+".jar")
	}
	return strings.Join(list, ":")
}

func needsJar(t *testing.T, name string) {
	t.Helper()
	_, err := os.Stat("/usr/share/java/" + name + ".jar")
	if err == nil {
		_, err = exec.LookPath("java")
	}
	lacks(t, err, "apt install libzookeeper-java libcurator-recipes-java default-jdk-headless")
}

func lacks(t *testing.T, err error, advice string) {
	t.Helper()
	switch {
	case err != nil && full():
		t.Fatal(err)
	case err != nil:
		t.Skipf("%v: %s", err, advice)
	}
}

// programs are the workers in other languages. Each is given the addresses of the members, a name, and how many
// sections it is to have; it prints a line when it enters and when it leaves one, with the time, and the czxid of its
// znode.
var programs = []struct {
	name    string
	leads   int // how often each says that it leads
	command func(t *testing.T) []string
}{
	{"kazoo", 0, func(t *testing.T) []string {
		const python = "/usr/bin/python3"
		lacks(t, exec.Command(python, "-c", "import kazoo").Run(), "apt install python3-kazoo")
		return []string{python, "testdata/kazoo/worker.py"}
	}},
	{"curator", 1, func(t *testing.T) []string {
		if !full() {
			t.Skip("it compiles, which takes a while: FENCEPOST_FULL=1")
		}
		needsJar(t, "curator-recipes")
		path := classes("zookeeper", "zookeeper-jute", "curator-client", "curator-framework", "curator-recipes")
		return []string{"java", "-Xmx64m", "-cp", path, "testdata/curator/Worker.java"}
	}},
}

// section is from when a program had entered to when it was about to leave.
type section struct {
	from, to, token int64
	by              string
}

// TestOtherLanguages: two programs at a time exclude each other, on simulated servers and on a real one, and the czxids
// of their znodes only grow.
func TestOtherLanguages(t *testing.T) {
	const each = 3
	for _, p := range programs {
		for name, serve := range zooKeepers {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				command := p.command(t)
				servers := serve(t)
				var all []section
				var outs [2]bytes.Buffer
				var running [2]*exec.Cmd
				for i := range running {
					args := append(command[1:], servers, fmt.Sprint(p.name, i), strconv.Itoa(each))
					c := exec.CommandContext(t.Context(), command[0], args...)
					c.Stdout, c.Stderr = &outs[i], &outs[i]
					c.WaitDelay = time.Second
					if err := c.Start(); err != nil {
						t.Fatal(err)
					}
					running[i] = c
				}
				for i, c := range running {
					err := c.Wait()
					list := sections(t, filepath.Base(c.Path), outs[i].String())
					leads := strings.Count(outs[i].String(), "LEADS")
					if err != nil || len(list) != each || leads != p.leads {
						t.Errorf("%v; it printed\n%s", err, outs[i].String())
					}
					all = append(all, list...)
				}
				slices.SortFunc(all, func(a, b section) int { return int(a.from - b.from) })
				for i := 1; i < len(all); i++ {
					if all[i].from < all[i-1].to || all[i].token <= all[i-1].token {
						t.Errorf("%+v and %+v", all[i-1], all[i])
					}
				}
			})
		}
	}
}

// sections reads what a program has printed.
func sections(t *testing.T, by, out string) (all []section) {
	t.Helper()
	in := bufio.NewScanner(strings.NewReader(out))
	for in.Scan() {
		var at, token int64
		if n, _ := fmt.Sscanf(in.Text(), "ENTERED %d %d", &at, &token); n == 2 {
			all = append(all, section{from: at, token: token, by: by})
		} else if n, _ := fmt.Sscanf(in.Text(), "LEAVING %d", &at); n == 1 && len(all) > 0 {
			all[len(all)-1].to = at
		}
	}
	return all
}
