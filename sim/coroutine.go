package sim

import (
	"iter"
	"sync"
)

// Stacks contains the coroutines on which tasks run. All worlds of the program share one set, unless their Options
// provide another: code in a bubble (testing/synctest) may not run on a stack that was created outside the bubble.
type Stacks struct {
	mu   sync.Mutex
	idle []*coroutine // at most the maximum number of tasks that ran at once
}

var shared Stacks

// coroutine is a stack on which tasks run, one after another, so that a stack that has grown is reused.
type coroutine struct {
	of   *Stacks
	next func() (struct{}, bool)
	stop func()
	park func(struct{}) bool
	task *task // the running task; nil while idle
}

// hire returns an idle coroutine for t, or a new one if none is idle.
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

// resume runs the task until it parks or ends. If it ends, the coroutine becomes idle.
func (c *coroutine) resume() {
	c.next()
	if c.task == nil {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.idle = append(c.of.idle, c)
	}
}

// Close ends the idle coroutines. It must be called in the bubble in which they were created.
func (s *Stacks) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		c.stop()
	}
	s.idle = nil
}
