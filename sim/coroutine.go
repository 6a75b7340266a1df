package sim

import (
	"iter"
	"sync"
)

// Stacks holds the coroutines on which tasks run. Worlds share the program's, unless Options give them their own: code
// in a bubble (testing/synctest) may not run on a stack that was made outside.
type Stacks struct {
	mu   sync.Mutex
	idle []*coroutine // never more than the most tasks that have run at once
}

var shared Stacks

// coroutine is a stack on which tasks run, one after another, so that its grown stack is reused.
type coroutine struct {
	of   *Stacks
	next func() (struct{}, bool)
	stop func()
	park func(struct{}) bool
	task *task // the one that runs; nil while idle
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

// resume runs the task until it parks or ends.
func (c *coroutine) resume() {
	c.next()
	if c.task == nil {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.idle = append(c.of.idle, c)
	}
}

// Close ends the idle coroutines. It must be called in the bubble in which they were made.
func (s *Stacks) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		c.stop()
	}
	s.idle = nil
}
