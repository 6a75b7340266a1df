package fleet

import "sync"

// gate stores functions until the world's goroutine exists, and then runs them there. The zero gate is ready to use.
type gate struct {
	mu    sync.Mutex
	loop  Loop
	early []func()
}

// do passes f to the loop, as Loop.Do does. If there is no loop yet, do stores f until there is one.
func (g *gate) do(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.loop == nil {
		g.early = append(g.early, f)
		return
	}
	g.loop.Do(f)
}

// begin sets the loop, which must not be running yet.
func (g *gate) begin(l Loop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loop = l
	for _, f := range g.early {
		l.Do(f)
	}
	g.early = nil
}
