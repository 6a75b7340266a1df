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
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
)

// loopback is where the relay listens, and a member that is alone.
const loopback = "127.0.0.1"

// program is a member's process, in its folder.
type program struct {
	*process.Daemon
	number int         // in the ensemble; the highest becomes leader, if nobody knows more
	gate   *relay.Port // through which it calls others; nil: it is alone
	shim   *process.Shim

	host                     string // where it listens
	client, quorum, election int    // ports there
}

// patience is how long a process may take to start or to end: several times what it needs on a busy machine.
const patience = time.Minute

// choosePorts chooses where the process listens.
func (p *program) choosePorts() error {
	for _, port := range []*int{&p.client, &p.quorum, &p.election} {
		var err error
		if *port, err = relay.FreePort(p.host); err != nil {
			return fmt.Errorf("finding a port for %s: %w", p.Name, err)
		}
	}
	if p.gate != nil {
		at := netip.MustParseAddr(p.host)
		p.gate.Serve(netip.AddrPortFrom(at, uint16(p.quorum)), netip.AddrPortFrom(at, uint16(p.election)))
	}
	return nil
}

// data is the folder of its data.
func (p *program) data() string { return filepath.Join(p.Folder, "data") }

// The times of an ensemble, in ms, or in ticks.
const (
	tick       = 2000
	minTimeout = 2 * tick
	maxTimeout = 20 * tick
	initLimit  = 10
	syncLimit  = 1
)

// configure writes the configuration. Members identify each other by the certificate of the run.
func (p *program) configure(all []*program, id process.Identity) error {
	lines := []string{fmt.Sprint("tickTime=", tick), fmt.Sprint("minSessionTimeout=", minTimeout),
		fmt.Sprint("maxSessionTimeout=", maxTimeout), fmt.Sprint("initLimit=", initLimit),
		fmt.Sprint("syncLimit=", syncLimit), "dataDir=" + p.data(), fmt.Sprint("clientPort=", p.client),
		"clientPortAddress=" + p.host, "maxClientCnxns=0", "preAllocSize=64", "admin.enableServer=false",
		"4lw.commands.whitelist=srvr"}
	for _, o := range all {
		if len(all) > 1 {
			lines = append(lines, fmt.Sprintf("server.%d=%s:%d:%d", o.number, o.host, o.quorum, o.election))
		}
	}
	if len(all) > 1 {
		lines = append(lines, "sslQuorum=true", "ssl.quorum.hostnameVerification=false",
			"ssl.quorum.keyStore.type=PEM", "ssl.quorum.keyStore.location="+id.Key,
			"ssl.quorum.trustStore.type=PEM", "ssl.quorum.trustStore.location="+id.Certificate)
	}
	if err := os.MkdirAll(p.data(), 0o700); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(p.data(), "myid"), []byte(strconv.Itoa(p.number)), 0o600),
		os.WriteFile(p.file(), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (p *program) file() string { return filepath.Join(p.Folder, "zoo.cfg") }

// prepare sets how the process is run.
func (p *program) prepare(c *settings) {
	p.Args = append([]string{c.Java}, flags...)
	p.Args = append(p.Args, "-Dzookeeper.DigestAuthenticationProvider.superDigest="+c.digest())
	p.Args = append(p.Args, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.jmx.log4j.disable=true")
	if p.gate != nil {
		p.Args = append(p.Args, "-DsocksProxyHost="+loopback, fmt.Sprint("-DsocksProxyPort=", p.gate.Number()),
			"-DsocksNonProxyHosts=")
	}
	p.Args = append(p.Args, "-cp", c.classpath(), "org.apache.zookeeper.server.quorum.QuorumPeerMain", p.file())
	p.Env = append(os.Environ(), p.shim.Environment()...)
}

// spawn starts the process, stopped during a pause.
func (p *program) spawn() error {
	if err := p.shim.Begin(); err != nil {
		return err
	}
	return p.Start()
}

// end ends the process, and its data if that is lost.
func (p *program) end(how sim.Stop) error {
	if how == sim.ShutDown {
		p.ShutDown(patience, patience)
	}
	p.Kill()
	if how == sim.LoseAllState {
		return os.RemoveAll(p.data())
	}
	return nil
}

// soon is how long a running member may take to report its role.
const soon = 2 * time.Second

// mode is the role that the process reports: leader, follower or standalone; empty if it serves nobody.
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
func (p *program) address() string { return net.JoinHostPort(p.host, strconv.Itoa(p.client)) }
