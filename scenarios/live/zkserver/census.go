package zkserver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// census is the requests for locks that stand by what a member says, as of a zxid.
type census struct {
	zxid   int64
	stands map[string]bool // by path
}

// errServesNobody reports that a member serves nobody any more: what it was asked for it has told nobody.
var errServesNobody = errors.New("the member serves nobody any more")

// Limits of a census: how long a member may take for it, and how often it is taken anew since something has changed
// meanwhile.
const (
	censusTakes = time.Second
	censusTries = 50
)

// census takes one, of all locks as of the same zxid.
func (o *observer) census() (census, error) {
	ctx, stop := context.WithTimeout(o.x.Context, censusTakes)
	defer stop()
	const folder = "/locks"
	locks, known := o.children(ctx, folder)
	for range censusTries {
		c := census{zxid: locks.zxid, stands: map[string]bool{}}
		same := true
		for i := 0; i < len(locks.names) && known; i++ {
			path := folder + "/" + locks.names[i]
			var requests listed
			requests, known = o.children(ctx, path)
			same = same && (i == 0 || requests.zxid == c.zxid)
			c.zxid = requests.zxid
			for _, name := range requests.names {
				c.stands[path+"/"+name] = true
			}
		}
		switch {
		case !known:
			return census{}, errServesNobody
		case same:
			return c, nil
		}
	}
	return census{}, errServesNobody
}

// listed is the names of a znode's children as of a zxid; none if it is not there.
type listed struct {
	zxid  int64
	names []string
}

// children lists those of a znode. known is false if the process cannot tell: only a znode that is not there has none.
func (o *observer) children(ctx context.Context, path string) (l listed, known bool) {
	a, known := o.ask(ctx, record(nil).int(xidList).int(opChildren).text(path).flag(false))
	if a.code == 0 {
		l.names = a.body.texts()
	}
	l.zxid = a.zxid
	return l, known && (a.code == 0 || codes[a.code] == zookeeper.NoNode) && !a.body.torn
}

// buried is a znode that is gone, and its path.
type buried struct {
	path string
	node node
}

// mostBuried is how many znodes are remembered that are gone.
const mostBuried = 10_000

// bury forgets a znode, but for the case that it comes back.
func (s *scribe) bury(path string) {
	if n, there := s.nodes[path]; there {
		if len(s.graves) == mostBuried {
			s.graves = append(s.graves[:0], s.graves[mostBuried/2:]...)
		}
		s.graves = append(s.graves, buried{path, n})
		delete(s.nodes, path)
	}
}

// grave is the znode that was at a path last.
func (s *scribe) grave(path string) (n node, known bool) {
	for _, g := range s.graves {
		if g.path == path {
			n, known = g.node, true
		}
	}
	return n, known
}

// touched calls f with each path that a transaction makes or removes.
func (t *txn) touched(f func(path string, made bool)) {
	switch t.op {
	case opCreate, opCreate2:
		f(t.path, true)
	case opDelete:
		f(t.path, false)
	case opCloseSession:
		for _, path := range t.paths {
			f(path, false)
		}
	}
}

// reconcile takes transactions that are not recorded yet, up to the zxid of a census in a new epoch, and what is
// recorded of the time before. By the census it is known what the epoch has begun with. Of what is older than that
// epoch, what contradicts it is left out, and what is recorded and contradicts it has been lost, or is back.
func (s *scribe) reconcile(list []txn, c census) (kept []txn, lost []effect) {
	now := epoch(c.zxid)
	removed := map[string]bool{} // of what the epoch itself has made or removed: which of the two came first
	for i := range list {
		if t := &list[i]; epoch(t.zxid) == now {
			t.touched(func(path string, made bool) {
				if _, before := removed[path]; !before {
					removed[path] = !made
				}
			})
		}
	}
	began := func(path string) bool {
		if r, touched := removed[path]; touched {
			return r
		}
		return c.stands[path]
	}
	agree := map[string]int64{} // the last that is older and agrees with that, or is of no lock
	for i := range list {
		if t := &list[i]; epoch(t.zxid) < now {
			t.touched(func(path string, made bool) {
				if made == began(path) || !mayBeRequest(path) {
					agree[path] = t.zxid
				}
			})
		}
	}
	for _, t := range list {
		if epoch(t.zxid) == now || t.keep(func(path string) bool { return t.zxid <= agree[path] }) {
			kept = append(kept, t)
		}
	}
	return kept, s.differences(c, removed, began, func(path string) bool { return agree[path] > 0 })
}

// mayBeRequest reports whether a znode at a path may be a request for a lock.
func mayBeRequest(path string) bool {
	_, _, is := zookeeper.LockOf(path, true, true)
	return is
}

// keep leaves only those paths in a transaction that are to stay, and reports whether any is left.
func (t *txn) keep(stays func(path string) bool) (any bool) {
	var paths []string
	t.touched(func(path string, _ bool) {
		if stays(path) {
			paths = append(paths, path)
		}
	})
	if t.op == opCloseSession {
		t.paths = paths
	}
	return len(paths) > 0
}

// differences are those of the records from what an epoch has begun with, but for the paths of which what agrees with
// that is still to be recorded. They are carried out.
func (s *scribe) differences(c census, removed map[string]bool, began, agrees func(string) bool) (list []effect) {
	first := &txn{zxid: epoch(c.zxid) << 32}
	for _, path := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[path]
		if _, _, is := zookeeper.LockOf(path, n.owner != 0, n.sequential); is && !began(path) && !agrees(path) {
			s.bury(path)
			first.path = path
			list = n.effect(list, first, effect{gone: true, why: history.LostInFailover})
		}
	}
	back := map[string]bool{}
	for path := range c.stands {
		back[path] = true
	}
	for path := range removed {
		back[path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(back)) {
		if _, there := s.nodes[path]; there || !began(path) || agrees(path) {
			continue
		}
		if n, known := s.grave(path); known {
			s.nodes[path] = n
			first.path = path
			list = n.effect(list, first, effect{})
		}
	}
	return list
}
