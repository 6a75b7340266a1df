package redis

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/fencepost-sim/fencepost/sim"
)

// realRedis is a redis-server of this machine, empty and without persistence, on a socket in a temporary folder.
type realRedis struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func startRealRedis(t *testing.T) *realRedis {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not on PATH: the node is not compared with a real Redis here")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	log := bufio.NewScanner(out)
	for log.Scan() {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return &realRedis{t: t, conn: conn, r: bufio.NewReader(conn)}
		}
	}
	t.Fatal("redis-server ended before it listened")
	return nil
}

// do sends a command and gives the reply in RESP.
func (s *realRedis) do(args ...string) string {
	b := sim.AppendArray(nil, len(args))
	for _, a := range args {
		b = sim.AppendBulk(b, a)
	}
	if _, err := s.conn.Write(b); err != nil {
		s.t.Fatalf("redis-server does not take %q: %v", args, err)
	}
	reply, err := s.read()
	if err != nil {
		s.t.Fatalf("redis-server does not answer %q: %v", args, err)
	}
	return reply
}

func (s *realRedis) read() (string, error) {
	line, err := s.r.ReadString('\n')
	if err != nil || line[0] != '$' && line[0] != '*' {
		return line, err
	}
	size, err := strconv.Atoi(line[1 : len(line)-2])
	if err != nil || size < 0 {
		return line, err
	}
	if line[0] == '$' {
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
