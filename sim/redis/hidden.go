package redis

// A replica never deletes an expired key by itself: it waits for its master's DEL. Until then it hides the key from its
// clients, while commands of its master still find it. Hidden keys lie in another database of the same miniredis.

const hiddenDB = 1

// hiddenKey is a key that is there and must not be seen.
type hiddenKey struct {
	name string
	*key
}

// veil hides what has expired by the clock of this turn, and shows again what a clock that went back has brought to life.
func (n *Node) veil() {
	if n.repl.master == "" {
		return
	}
	d := &n.data
	kept := d.hidden[:0]
	for _, h := range d.hidden {
		if n.ms > h.when {
			kept = append(kept, h)
		} else {
			d.show(h)
		}
	}
	clear(d.hidden[len(kept):])
	d.hidden = kept
	for len(d.deadlines) > 0 {
		top := d.deadlines[0]
		if stands := d.stands(top); stands && n.ms <= top.when {
			return
		} else if stands {
			d.hide(top.name)
		}
		d.deadlines.pop()
	}
}

func (d *dataset) hide(name string) {
	_ = d.mini.Copy(0, name, hiddenDB, name) // fails only without the source
	d.db.Del(name)
	d.hidden = append(d.hidden, hiddenKey{name, d.keys[name]})
	delete(d.keys, name)
}

// show brings a hidden key back; the caller drops it from hidden.
func (d *dataset) show(h hiddenKey) {
	_ = d.mini.Copy(hiddenDB, h.name, 0, h.name)
	d.mini.DB(hiddenDB).Del(h.name)
	d.keys[h.name] = h.key
	when := h.when
	h.when = never // so that it gets an entry in the heap
	d.expireAt(h.name, h.key, when)
}

// unveil shows all keys.
func (d *dataset) unveil() {
	for _, h := range d.hidden {
		d.show(h)
	}
	clear(d.hidden)
	d.hidden = d.hidden[:0]
}

// forgetHidden removes the hidden keys.
func (d *dataset) forgetHidden() {
	if len(d.hidden) > 0 {
		d.mini.DB(hiddenDB).FlushDB()
		clear(d.hidden)
		d.hidden = d.hidden[:0]
	}
}
