//go:build linux && amd64

package traced

import (
	"math"
	"runtime"
	"testing"
	"time"
)

type none struct{}

func (none) Dialled(c *Conn)     { c.Refuse(false) }
func (none) Wrote(*Conn, []byte) {}
func (none) Closed(*Conn)        {}
func (none) Exited(*Process)     {}

func TestTry(t *testing.T) {
	runtime.LockOSThread()
	tr, err := NewTracer(0, 0)
	m := tr.New(Options{Seed: 1, Network: none{}, Wall: 1767225600_000000000})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := m.Start(Command{Name: "a", Args: []string{"/usr/bin/python3", "/tmp/h.py"}, Env: []string{"PATH=/usr/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		err = m.Run(math.MaxInt64, func() bool { _, ok := p.Exited(); return ok })
	}
	e, ok := p.Exited()
	t.Log(err, e, ok, m.Now(), "\n"+string(p.Printed()))
	_ = time.Second
}
