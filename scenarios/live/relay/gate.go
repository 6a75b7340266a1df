package relay

import "sync"

// Gate keeps functions for the world's goroutine until there is one. The zero Gate is ready to use.
type Gate struct {
	mu    sync.Mutex
	loop  Loop
	early []func()
}

// Do is that of the loop.
func (g *Gate) Do(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.loop == nil {
		g.early = append(g.early, f)
		return
	}
	g.loop.Do(f)
}

// Begin sets the loop, which must not run yet.
func (g *Gate) Begin(l Loop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loop = l
	for _, f := range g.early {
		l.Do(f)
	}
	g.early = nil
}
