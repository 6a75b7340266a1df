package zkserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/live/keeper"
	"github.com/fencepost-sim/fencepost/sim/live/redisserver/machine"
	"github.com/fencepost-sim/fencepost/sim/live/relay"
)

// host is where members listen.
const host = "127.0.0.1"

// program is a member's process, in its folder.
type program struct {
	cfg    *settings
	name   sim.ProcessID
	number int // in the ensemble; the highest leads, if nobody knows more
	folder string
	gate   *relay.Port // by which it calls others; nil: it is alone
	shim   *machine.Shim

	client, quorum, election int // ports

	mu      sync.Mutex
	process *keeper.Process
	held    bool
}

// patience is how long a process may take to start or to end: several times what it takes on a busy machine.
const patience = time.Minute

// errDied reports that a process has ended by itself.
var errDied = errors.New("ended by itself")

// choosePorts chooses where the process listens.
func (p *program) choosePorts() error {
	for _, port := range []*int{&p.client, &p.quorum, &p.election} {
		var err error
		if *port, err = relay.FreePort(host); err != nil {
			return fmt.Errorf("finding a port for %s: %w", p.name, err)
		}
	}
	if p.gate != nil {
		at := netip.MustParseAddr(host)
		p.gate.Serve(netip.AddrPortFrom(at, uint16(p.quorum)), netip.AddrPortFrom(at, uint16(p.election)))
	}
	return nil
}

// data is the folder of its data, and logs that of its logs.
func (p *program) data() string { return filepath.Join(p.folder, "data") }
func (p *program) logs() string { return filepath.Join(p.data(), "version-2") }

// The times of an ensemble, in ms, or in ticks.
const (
	tick       = 2000
	minTimeout = 2 * tick
	maxTimeout = 20 * tick
	initLimit  = 10
	syncLimit  = 1
)

// configure writes the configuration.
func (p *program) configure(all []*program) error {
	lines := []string{fmt.Sprint("tickTime=", tick), fmt.Sprint("minSessionTimeout=", minTimeout),
		fmt.Sprint("maxSessionTimeout=", maxTimeout), fmt.Sprint("initLimit=", initLimit),
		fmt.Sprint("syncLimit=", syncLimit), "dataDir=" + p.data(), fmt.Sprint("clientPort=", p.client),
		"clientPortAddress=" + host, "maxClientCnxns=0", "preAllocSize=64", "admin.enableServer=false",
		"4lw.commands.whitelist=srvr"}
	for _, o := range all {
		if len(all) > 1 {
			lines = append(lines, fmt.Sprintf("server.%d=%s:%d:%d", o.number, host, o.quorum, o.election))
		}
	}
	if err := os.MkdirAll(p.data(), 0o700); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(p.data(), "myid"), []byte(strconv.Itoa(p.number)), 0o600),
		os.WriteFile(p.file(), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (p *program) file() string { return filepath.Join(p.folder, "zoo.cfg") }

// spawn starts the process, stopped if it is to be.
func (p *program) spawn() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.shim.Begin(); err != nil {
		return err
	}
	args := append([]string{p.cfg.Java}, flags...)
	args = append(args, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dzookeeper.preAllocSize=64")
	if p.gate != nil {
		args = append(args, "-DsocksProxyHost="+host, fmt.Sprint("-DsocksProxyPort=", p.gate.Number()),
			"-DsocksNonProxyHosts=")
	}
	args = append(args, "-cp", p.cfg.classpath(), "org.apache.zookeeper.server.quorum.QuorumPeerMain", p.file())
	p.process, err = p.cfg.Keeper.Start(keeper.Command{Args: args, Env: append(os.Environ(), p.shim.Environment()...),
		Dir: p.folder, Stdout: p.log(), Stderr: p.log()})
	if err == nil && p.held {
		err = p.process.Stop()
	}
	return err
}

// running is the process that was started last.
func (p *program) running() *keeper.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// ended is closed once the process that was started last has ended; nil if it could not be started.
func (p *program) ended() <-chan struct{} {
	if process := p.running(); process != nil {
		return process.Done()
	}
	return nil
}

// hold stops the process, or lets it go on; one that is started later too.
func (p *program) hold(on bool) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = on
	switch {
	case p.process == nil:
	case on:
		err = p.process.Stop()
	default:
		err = p.process.Cont()
	}
	if errors.Is(err, keeper.ErrEnded) {
		return nil // nothing is down longer than that
	}
	return err
}

// kill kills the process, and returns once it has ended.
func (p *program) kill() {
	if process := p.running(); process != nil {
		_ = process.Kill() // whether or not it had ended; without the keeper it is gone as well
	}
}

// end ends the process, and its data if they go with it.
func (p *program) end(how sim.Stop) error {
	if process := p.running(); process != nil && how == sim.ShutDown && process.Cont() == nil &&
		process.Terminate() == nil {
		select {
		case <-process.Done():
		case <-time.After(patience):
		}
	}
	p.kill()
	if how == sim.LoseAllState {
		return os.RemoveAll(p.data())
	}
	return nil
}

// log is the file that the process writes what goes wrong to, beside its folder.
func (p *program) log() string { return p.folder + ".log" }

// diedError says how the process ended by itself, and its last words.
func (p *program) diedError() error {
	return fmt.Errorf("%s: ZooKeeper %w: it %v%s", p.name, errDied, p.running().Status(), p.lastWords())
}

// lastWords are the last lines of the log.
func (p *program) lastWords() string {
	const most = 5
	b, err := os.ReadFile(p.log())
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if err != nil || len(b) == 0 {
		return ", and said nothing"
	}
	return "; it said\n  " + strings.Join(lines[max(len(lines)-most, 0):], "\n  ")
}

// soon is how long a member that runs may take to say what it is.
const soon = 2 * time.Second

// mode is what the process says it is: leader, follower or standalone; empty if it serves nobody.
func (p *program) mode() string {
	conn, err := net.DialTimeout("tcp", p.address(), soon)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(soon))
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return ""
	}
	b, _ := io.ReadAll(conn)
	_, rest, _ := strings.Cut(string(b), "Mode: ")
	mode, _, _ := strings.Cut(rest, "\n")
	return mode
}

// address is where clients reach the process.
func (p *program) address() string { return net.JoinHostPort(host, strconv.Itoa(p.client)) }
