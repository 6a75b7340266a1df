package zookeeper

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// EventType is what a watch observed.
type EventType string

// The events of watches, by ZooKeeper's names.
const (
	NodeCreated         EventType = "NodeCreated"
	NodeDeleted         EventType = "NodeDeleted"
	NodeDataChanged     EventType = "NodeDataChanged"
	NodeChildrenChanged EventType = "NodeChildrenChanged"
	// None: the session has ended, and the watch with it. Only the client library reports it.
	None EventType = "None"
)

// Event is what a watch observed, and where.
type Event struct {
	Type EventType
	Path string
}

// tree holds the znodes. It knows neither sessions nor time; each change is made at a given zxid and recorded in
// changes.
type tree struct {
	nodes   map[string]*znode
	changes []change // of the current transaction, in the order in which watches fire
}

// change is one effect of a transaction.
type change struct {
	Event
	node *znode // created or deleted; nil otherwise
}

func (t *tree) reset() {
	if t.nodes == nil {
		t.nodes = map[string]*znode{}
	}
	clear(t.nodes)
	clear(t.changes)
	t.changes = t.changes[:0]
	t.nodes["/"] = &znode{path: "/"}
}

func (t *tree) note(kind EventType, path string, n *znode) {
	t.changes = append(t.changes, change{Event{kind, path}, n})
}

// create adds a znode; path is returned with the number if the mode is sequential. Errors are found in the order of
// PrepRequestProcessor.pRequest2TxnCreate: the number may turn an invalid path into a valid one, such as "/locks/".
func (t *tree) create(at Zxid, path, data string, mode Mode, owner SessionID, by history.Attempt) (*znode, Code) {
	parentPath, name, ok := split(path)
	if !ok || mode > EphemeralSequential {
		return nil, BadArguments
	}
	parent := t.nodes[parentPath]
	if parent == nil {
		return nil, NoNode
	}
	if mode.sequential() {
		path = numbered(path, parent.creates)
		name = numbered(name, parent.creates)
	}
	switch {
	case !validPath(path):
		return nil, BadArguments
	case t.nodes[path] != nil:
		return nil, NodeExists
	case parent.owner != 0:
		return nil, NoChildrenForEphemerals
	}
	n := &znode{path: path, data: data, czxid: at, mzxid: at, pzxid: at, by: by, sequential: mode.sequential()}
	if mode.ephemeral() {
		n.owner = owner
	}
	t.nodes[path] = n
	i, _ := slices.BinarySearch(parent.children, name)
	parent.children = slices.Insert(parent.children, i, name)
	parent.creates++
	parent.pzxid = at
	t.note(NodeCreated, path, n)
	t.note(NodeChildrenChanged, parentPath, nil)
	return n, ""
}

// AnyVersion as the version of a request makes it unconditional.
const AnyVersion int64 = -1

// find returns the znode if it exists and has the version.
func (t *tree) find(path string, version int64) (*znode, Code) {
	n := t.nodes[path]
	switch {
	case n == nil:
		return nil, NoNode
	case version != AnyVersion && version != n.version:
		return nil, BadVersion
	}
	return n, ""
}

func (t *tree) delete(at Zxid, path string, version int64) Code {
	parentPath, name, ok := split(path)
	if !ok || path == "/" {
		return BadArguments
	}
	n, code := t.find(path, version)
	switch {
	case code != "":
		return code
	case len(n.children) > 0:
		return NotEmpty
	}
	delete(t.nodes, path)
	parent := t.nodes[parentPath]
	if i, found := slices.BinarySearch(parent.children, name); found {
		parent.children = slices.Delete(parent.children, i, i+1)
	}
	parent.pzxid = at
	t.note(NodeDeleted, path, n)
	t.note(NodeChildrenChanged, parentPath, nil)
	return ""
}

func (t *tree) setData(at Zxid, path, data string, version int64) (*znode, Code) {
	if !validPath(path) {
		return nil, BadArguments
	}
	n, code := t.find(path, version)
	if code != "" {
		return nil, code
	}
	n.data, n.mzxid = data, at
	n.version++
	t.note(NodeDataChanged, path, nil)
	return n, ""
}
