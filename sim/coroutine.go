package sim

import (
	"iter"
	"sync"
)

// Stacks are the coroutines on which tasks run. Worlds share those of the program, unless Options give some of their
// own: code in a bubble (testing/synctest) may not run on a stack that was made outside.
type Stacks struct {
	mu   sync.Mutex
	idle []*coroutine // there are never more than tasks have run at once
}

var shared Stacks

// coroutine is a stack on which tasks run, one after another: what it has grown to serves the next.
type coroutine struct {
	of   *Stacks
	next func() (struct{}, bool)
	stop func()
	park func(struct{}) bool
	task *task // that it runs; nil while idle
}

// hire finds a coroutine for t.
func (s *Stacks) hire(t *task) *coroutine {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		return s.grow(t)
	}
	c := s.idle[n-1]
	s.idle = s.idle[:n-1]
	c.task = t
	return c
}

func (s *Stacks) grow(t *task) *coroutine {
	c := &coroutine{of: s, task: t}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.park = yield
		for {
			c.task.run()
			c.task = nil
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return c
}

// resume lets the task go on until it parks or ends.
func (c *coroutine) resume() {
	c.next()
	if c.task == nil {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.idle = append(c.of.idle, c)
	}
}

// Idle is how many coroutines no task runs on.
func (s *Stacks) Idle() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.idle)
}

// Close ends the coroutines that are idle. It must be called in the bubble in which they were made.
func (s *Stacks) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		c.stop()
	}
	s.idle = nil
}
