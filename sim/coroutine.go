package sim

import (
	"iter"
	"sync"
)

// Stacks holds the coroutines on which tasks run. By default, all of the program's worlds share a single set. Code in a
// bubble (testing/synctest) must not run on a stack that was created outside the bubble. Therefore, a world in a bubble
// needs a separate set in its Options.
type Stacks struct {
	mu   sync.Mutex
	idle []*coroutine // coroutines without a task; never more than the largest number of tasks that ran at once
}

var shared Stacks

// coroutine is a stack on which tasks run one after another. Reusing a coroutine is cheaper than creating a new one,
// because its stack has often already grown to the size that tasks need.
type coroutine struct {
	of   *Stacks
	next func() (struct{}, bool)
	stop func()
	park func(struct{}) bool
	task *task // the running task; nil while idle
}

// hire assigns an idle coroutine to t. It creates a new one if none is idle.
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

// resume runs the task until it parks or ends. If the task ends, the coroutine becomes idle.
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
