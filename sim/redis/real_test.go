package redis

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
)

// tool returns the path of a program. If it is not on PATH, the test ends as in [testkit.Needs].
func tool(t *testing.T, name string) string {
	t.Helper()
	testkit.Needs(t, name)
	path, _ := exec.LookPath(name)
	return path
}

// start starts a redis-server, which is stopped when the test ends. It waits until the server's log contains the given
// text.
func start(t *testing.T, ready string, env []string, args ...string) {
	t.Helper()
	startProgram(t, tool(t, "redis-server"), ready, env, args...)
}

// startProgram is like start, but runs the redis-server at path.
func startProgram(t *testing.T, path, ready string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	log := bufio.NewScanner(out)
	for log.Scan() {
		if strings.Contains(log.Text(), ready) {
			return
		}
	}
	t.Fatalf("redis-server ended before its log said %q", ready)
}

// realRedis is a connection to a redis-server on this machine.
type realRedis struct {
	t        *testing.T
	conn     net.Conn
	r        *bufio.Reader
	patience time.Duration // how long await waits
}

func connect(t *testing.T, network, address string) *realRedis {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &realRedis{t: t, conn: conn, r: bufio.NewReader(conn), patience: 2 * time.Second}
}

// realServer is an empty redis-server process on this machine. It has no persistence, and listens on a socket in a
// temporary folder. The test controls the process's wall clock. The process deletes an expired key only when a command
// accesses the key.
type realServer struct {
	t      *testing.T
	socket string
	clock  *os.File
}

func startRealRedis(t *testing.T) *realServer {
	t.Helper()
	return startRealServer(t, tool(t, "redis-server"))
}

func startRealServer(t *testing.T, path string) *realServer {
	t.Helper()
	dir := t.TempDir()
	shim, clock := filepath.Join(dir, "clock.so"), filepath.Join(dir, "clock")
	if out, err := exec.Command(tool(t, "gcc"), "-shared", "-fPIC", "-O2", "-o", shim,
		"testdata/clock.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	f, err := os.Create(clock)
	if err != nil {
		t.Fatal(err)
	}
	s := &realServer{t: t, socket: filepath.Join(dir, "s"), clock: f}
	t.Cleanup(func() { _ = f.Close() })
	s.setClock(epoch)
	startProgram(t, path, "accept connections", []string{"LD_PRELOAD=" + shim, "FENCEPOST_CLOCK=" + clock},
		"--port", "0", "--unixsocket", s.socket, "--save", "", "--appendonly", "no", "--dir", dir,
		"--enable-debug-command", "yes")
	s.dial().do("DEBUG", "SET-ACTIVE-EXPIRE", "0")
	return s
}

func (s *realServer) dial() *realRedis {
	s.t.Helper()
	return connect(s.t, "unix", s.socket)
}

// setClock sets the server's wall clock, in ns since 1970.
func (s *realServer) setClock(ns int64) {
	if _, err := s.clock.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ns)), 0); err != nil {
		s.t.Fatal(err)
	}
}

func (s *realRedis) send(args ...string) {
	b := sim.AppendArray(nil, len(args))
	for _, a := range args {
		b = sim.AppendBulk(b, a)
	}
	if _, err := s.conn.Write(b); err != nil {
		s.t.Fatal(err)
	}
}

// await reads the given number of RESP values. It returns an error if they do not arrive in time.
func (s *realRedis) await(count int) (all string, err error) {
	if count == 0 {
		return "", nil
	}
	if s.r.Buffered() == 0 {
		_ = s.conn.SetReadDeadline(time.Now().Add(s.patience))
	}
	for ; count > 0 && err == nil; count-- {
		var reply string
		reply, err = s.read()
		all += reply
	}
	return all, err
}

// do sends a command and returns the reply in RESP.
func (s *realRedis) do(args ...string) string {
	s.send(args...)
	reply, err := s.await(1)
	if err != nil {
		s.t.Fatalf("redis-server does not answer %q: %v", args, err)
	}
	return reply
}

func (s *realRedis) read() (string, error) {
	line, err := s.r.ReadString('\n')
	if err != nil || strings.IndexByte("$=*%~>", line[0]) < 0 {
		return line, err
	}
	size, err := strconv.Atoi(line[1 : len(line)-2])
	if err != nil || size < 0 {
		return line, err
	}
	if line[0] == '%' {
		size *= 2
	}
	if line[0] == '$' || line[0] == '=' {
		b := make([]byte, size+2)
		_, err := io.ReadFull(s.r, b)
		return line + string(b), err
	}
	for ; size > 0; size-- {
		item, err := s.read()
		if err != nil {
			return "", fmt.Errorf("inside an array: %w", err)
		}
		line += item
	}
	return line, nil
}
