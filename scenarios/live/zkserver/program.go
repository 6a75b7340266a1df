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

	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
)

// loopback is the address on which the relay listens. It is also the address of an ensemble's only member.
const loopback = "127.0.0.1"

// patience is how long a process may take to start or end. It is several times longer than a process needs on a busy
// machine.
const patience = time.Minute

// choosePorts chooses the ports on which the process will listen.
func (m *member) choosePorts() error {
	for _, port := range []*int{&m.client, &m.quorum, &m.election} {
		var err error
		if *port, err = fleet.FreePort(m.host); err != nil {
			return fmt.Errorf("finding a port for %s: %w", m.name, err)
		}
	}
	if m.Port != nil {
		at := netip.MustParseAddr(m.host)
		m.Port.Serve(netip.AddrPortFrom(at, uint16(m.quorum)), netip.AddrPortFrom(at, uint16(m.election)))
	}
	return nil
}

// data returns the process's data folder.
func (m *member) data() string { return filepath.Join(m.Daemon.Folder, "data") }

// Ensemble settings that are the same for all scenarios: the range of session timeouts in ms, and how many ticks a
// member has to catch up with its leader.
const (
	minTimeout = 4000
	maxTimeout = 40_000
	initLimit  = 10
)

// configure writes the configuration file. Members authenticate each other with the certificate that was created for
// the run.
func (m *member) configure() error {
	all, id := m.ensemble.members, m.ensemble.identity
	lines := []string{fmt.Sprint("tickTime=", m.ensemble.tick.Milliseconds()),
		fmt.Sprint("minSessionTimeout=", minTimeout), fmt.Sprint("maxSessionTimeout=", maxTimeout),
		fmt.Sprint("initLimit=", initLimit),
		fmt.Sprint("syncLimit=", m.ensemble.syncLimit), "dataDir=" + m.data(), fmt.Sprint("clientPort=", m.client),
		"clientPortAddress=" + m.host, "maxClientCnxns=0", "preAllocSize=64", "admin.enableServer=false",
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
	if err := os.MkdirAll(m.data(), 0o700); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(m.data(), "myid"), []byte(strconv.Itoa(m.number)), 0o600),
		os.WriteFile(m.file(), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (m *member) file() string { return filepath.Join(m.Daemon.Folder, "zoo.cfg") }

// arguments returns the program and its arguments.
func (m *member) arguments() []string {
	args := append([]string{java}, flags...)
	args = append(args, "-Dzookeeper.DigestAuthenticationProvider.superDigest="+m.ensemble.digest(),
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.jmx.log4j.disable=true")
	if m.Port != nil {
		args = append(args, "-DsocksProxyHost="+loopback, fmt.Sprint("-DsocksProxyPort=", m.Port.Number()),
			"-DsocksNonProxyHosts=")
	}
	return append(args, "-cp", classpath(), "org.apache.zookeeper.server.quorum.QuorumPeerMain", m.file())
}

// end ends the process. It deletes the data if that kind of stop requires it.
func (m *member) end(how sim.Stop) error {
	if how == sim.ShutDown {
		m.Daemon.ShutDown(patience, patience)
	}
	m.Daemon.Kill()
	if how == sim.LoseAllState {
		return os.RemoveAll(m.data())
	}
	return nil
}

// roleLimit is how long a running member may take to report its role.
const roleLimit = 2 * time.Second

// mode returns the role that the process reports: leader, follower or standalone. It returns "" if the process does not
// serve requests.
func (m *member) mode() string {
	conn, err := net.DialTimeout("tcp", m.address(), roleLimit)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(roleLimit))
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return ""
	}
	b, _ := io.ReadAll(conn)
	_, rest, _ := strings.Cut(string(b), "Mode: ")
	mode, _, _ := strings.Cut(rest, "\n")
	return mode
}

// address returns the address where clients reach the process.
func (m *member) address() string { return m.addressOf(m.client) }

// addressOf returns the address of one of the process's ports.
func (m *member) addressOf(port int) string { return net.JoinHostPort(m.host, strconv.Itoa(port)) }
