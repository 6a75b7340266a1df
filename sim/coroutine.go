package sim

import (
	"iter"
	"sync"
)

// coroutine is a stack on which tasks run, one after another: what it has grown to serves the next.
type coroutine struct {
	next func() (struct{}, bool)
	park func(struct{}) bool
	task *task // that it runs; nil while idle
}

// idle coroutines wait for the next task of any world. There are never more than tasks have run at once.
var idle struct {
	sync.Mutex
	list []*coroutine
}

// hire finds a coroutine for t.
func hire(t *task) *coroutine {
	idle.Lock()
	defer idle.Unlock()
	n := len(idle.list)
	if n == 0 {
		return newCoroutine(t)
	}
	c := idle.list[n-1]
	idle.list = idle.list[:n-1]
	c.task = t
	return c
}

func newCoroutine(t *task) *coroutine {
	c := &coroutine{task: t}
	c.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		c.park = yield
		for {
			c.task.run()
			c.task = nil
			yield(struct{}{})
		}
	})
	return c
}

// resume lets the task go on until it parks or ends.
func (c *coroutine) resume() {
	c.next()
	if c.task == nil {
		idle.Lock()
		defer idle.Unlock()
		idle.list = append(idle.list, c)
	}
}
