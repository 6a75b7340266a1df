package redis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// A key that has expired is hidden: no command sees it, yet it is there until somebody deletes it. A master does that when
// a command comes across the key, or in its background cycle; if its clock goes back before, the key is alive again. A
// replica never does: it waits for its master's DEL, and what its master sends finds hidden keys, too.
//
// A master's records follow what its clients can see: a key is gone once it is hidden, and set again if it comes back.

// hiddenKey is a key that is there and must not be seen. Its value lies here and not in miniredis.
type hiddenKey struct {
	Key
}

// cronEvery is how often Redis looks for expired keys in the background: hz 10. It then finds nearly all of them.
const cronEvery = 100 * time.Millisecond

// expireDue hides every key whose deadline has passed on the clock of this turn, the earliest deadline first.
func (n *Node) expireDue() {
	for len(n.data.deadlines) > 0 {
		top := n.data.deadlines[0]
		stands := n.data.stands(top)
		if stands && n.ms <= top.when {
			return
		}
		n.data.deadlines.pop()
		if stands {
			n.hide(top.name)
		}
	}
}

func (n *Node) hide(name string) {
	h := hiddenKey{n.look(name)}
	h.ended = !n.silent()
	n.recordGone(name, n.data.keys[name], history.Expired, "")
	n.data.db.Del(name)
	n.data.forget(name, n.data.keys[name])
	n.data.hidden = append(n.data.hidden, h)
}

// revive shows again what a clock that went back has brought to life.
func (n *Node) revive() {
	dead := slices.DeleteFunc(slices.Clone(n.data.hidden), func(h hiddenKey) bool { return n.ms <= h.Deadline })
	alive := slices.DeleteFunc(n.data.hidden, func(h hiddenKey) bool { return n.ms > h.Deadline })
	n.data.hidden = dead
	for i := range alive {
		h := &alive[i]
		n.show(h)
		if h.ended {
			n.attempt = ""
			k := n.data.keys[h.Name]
			n.recordSet(h.Name, n.valueOf(h.Name, k), k)
		}
	}
}

// show brings a hidden key back without a record; the caller drops it from hidden.
func (n *Node) show(h *hiddenKey) {
	was := n.loading
	n.loading = true
	for _, e := range h.remake(nil) {
		n.apply(&e)
	}
	n.loading = was
}

// unveil shows all keys.
func (n *Node) unveil() {
	all := n.data.hidden
	n.data.hidden = nil
	for i := range all {
		n.show(&all[i])
	}
}

// ended notes that the records know of the end of all that is hidden.
func (d *dataset) ended() {
	for i := range d.hidden {
		d.hidden[i].ended = true
	}
}

// find is what is known of a key, nil if it cannot be seen. A master that comes across an expired key here deletes it, and
// says so before anything that the command does.
func (n *Node) find(name string) *key {
	if len(n.data.hidden) > 0 && n.repl.master == "" {
		for i := range n.data.hidden {
			if n.data.hidden[i].Name == name {
				n.reap(i, i+1)
				break
			}
		}
	}
	return n.data.keys[name]
}

// reap deletes the hidden keys from one to another.
func (n *Node) reap(from, to int) {
	gone := slices.Clone(n.data.hidden[from:to])
	n.data.hidden = slices.Delete(n.data.hidden, from, to)
	asking := n.attempt
	n.attempt = "" // nobody's doing
	for i := range gone {
		n.changed(gone[i].Name)
		n.log(effect{op: opDel, key: gone[i].Name})
	}
	n.attempt = asking
}

// isHidden reports whether a key is there and must not be seen.
func (d *dataset) isHidden(name string) bool {
	return slices.ContainsFunc(d.hidden, func(h hiddenKey) bool { return h.Name == name })
}

// armCron makes sure that a master is woken at the next background cycle that has something to delete.
func (n *Node) armCron() {
	if n.cron || len(n.data.hidden) == 0 || n.repl.master != "" {
		return
	}
	n.cron = true
	since := n.host.Monotonic() - n.born
	n.host.WakeAfter(cronEvery-since%cronEvery, wakeCron)
}
