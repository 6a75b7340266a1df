package etcdserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// notice is one message of a member on a watch.
type notice struct {
	Result struct {
		Header  header `json:"header"`
		Created bool   `json:"created"`
		Reason  string `json:"cancel_reason"`
		Events  []struct {
			Type string   `json:"type"` // empty: PUT
			Key  keyValue `json:"kv"`
		} `json:"events"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// revisions returns the changes in the message, by revision.
func (t *notice) revisions() map[int64][]change {
	all := map[int64][]change{}
	for i := range t.Result.Events {
		e := &t.Result.Events[i]
		c := change{KeyValue: *e.Key.words(), deleted: e.Type == "DELETE"}
		all[c.Mod] = append(all[c.Mod], c)
	}
	return all
}

// follow opens a watch and passes its messages to take, until ctx is done.
func (g *gateway) follow(ctx context.Context, of fields, take func(*notice)) error {
	r, err := g.open(ctx, "/v3/watch", fields{"create_request": of})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	for in := json.NewDecoder(r.Body); ; {
		var t notice
		switch err := in.Decode(&t); {
		case errors.Is(err, io.EOF):
			return errors.New("the member has ended a watch")
		case err != nil:
			return err
		case t.Error != nil:
			return errors.New(t.Error.Message)
		case t.Result.Reason != "":
			return errors.New(t.Result.Reason)
		}
		take(&t)
	}
}

// look records everything that the member reports, from a revision on.
func (x *life) look(from int64) error {
	all := fields{"key": []byte{0}, "range_end": []byte{0}, "start_revision": from}
	return x.m.gateway.follow(x.Context, all, func(t *notice) {
		revisions := t.revisions()
		if x.m.cluster.passes.Load() {
			x.m.gateway.learn(x.Context, revisions)
		}
		x.Do(func() {
			for _, n := range slices.Sorted(maps.Keys(revisions)) {
				x.m.cluster.records.take(x.m, n, revisions[n])
			}
		})
	})
}

// watch is a client's watch.
type watch struct {
	id   int64
	stop context.CancelFunc
}

// watch opens a watch for a client.
func (c *connection) watch(q *request) {
	x := c.life
	r := &x.m.cluster.records
	x.lastWatch++
	ctx, stop := context.WithCancel(x.Context)
	w := &watch{x.lastWatch, stop}
	c.watches[w.id] = w
	of := interval(q.watch.Key, q.watch.End)
	of["start_revision"] = q.watch.From
	go func() {
		select {
		case <-x.ready:
		case <-ctx.Done():
			return
		}
		err := x.m.gateway.follow(ctx, of, func(t *notice) {
			if t.Result.Created {
				b := sim.AppendInt(sim.AppendArray(nil, 2), t.Result.Header.Revision)
				b = sim.AppendInt(b, w.id)
				x.Do(func() { r.after(t.Result.Header.Revision, func() { c.reply(q, b) }) })
				return
			}
			revisions := t.revisions()
			x.Do(func() {
				for _, n := range slices.Sorted(maps.Keys(revisions)) {
					r.after(n, func() { c.push(q.conn, w, n, revisions[n]) })
				}
			})
		})
		if ctx.Err() == nil {
			x.Explain(err)
		}
	}()
}

// push sends the changes of a revision to a client's watch.
func (c *connection) push(conn uint64, w *watch, revision int64, changes []change) {
	if c.life.IsOver() || c.watches[w.id] != w {
		return
	}
	b := sim.AppendInt(sim.AppendInt(sim.AppendArray(nil, 2+len(changes)), w.id), revision)
	key := sim.Key(0)
	for i := range changes {
		kind := "PUT"
		if changes[i].deleted {
			kind = "DELETE"
		}
		key = key.Text(changes[i].Key)
		b = etcd.AppendKey(sim.AppendBulk(sim.AppendArray(b, 2), kind), &changes[i].KeyValue)
	}
	c.life.m.Host.Push(conn, key, b)
}

// unwatch ends a watch on the same connection.
func (c *connection) unwatch(q *request) {
	if w := c.watches[q.unwatch]; w != nil {
		w.stop()
		delete(c.watches, q.unwatch)
	}
	c.reply(q, sim.AppendInt(sim.AppendArray(nil, 1), c.life.m.cluster.records.upTo))
}
