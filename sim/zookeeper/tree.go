package zookeeper

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// EventType is the type of a watch event.
type EventType string

// The watch event types, with ZooKeeper's names.
const (
	NodeCreated         EventType = "NodeCreated"
	NodeDeleted         EventType = "NodeDeleted"
	NodeDataChanged     EventType = "NodeDataChanged"
	NodeChildrenChanged EventType = "NodeChildrenChanged"
	// None means that the session, and with it the watch, has ended. Only the client library reports it.
	None EventType = "None"
)

// Event is a watch event: its type and path.
type Event struct {
	Type EventType
	Path string
}

// tree holds the znodes. It does not depend on sessions or time: the caller passes the zxid of each change. The current
// transaction's changes are recorded in the changes field.
type tree struct {
	nodes   map[string]*znode
	changes []change // changes by the current transaction, in the order in which watches fire
	undo    []undo   // how to undo the changes of the current multi; used only if undoing is true
	undoing bool
}

// change is one effect of a transaction.
type change struct {
	Event
	node *znode       // the znode that was created or deleted; otherwise nil
	acl  []permission // access list of the znode: only clients that may read it are notified
}

// undo stores a znode as it was before a change. node is nil if the znode did not exist.
type undo struct {
	path string
	node *znode
	was  znode
}

// The znodes that every ensemble has.
const (
	rootNode   = "/"
	systemNode = "/zookeeper"
	configNode = systemNode + "/config"
	quotaNode  = systemNode + "/quota"
)

func (t *tree) reset() {
	if t.nodes == nil {
		t.nodes = map[string]*znode{}
	}
	clear(t.nodes)
	clear(t.changes)
	t.changes = t.changes[:0]
	t.nodes[rootNode] = &znode{path: rootNode, children: []string{"zookeeper"}}
	t.nodes[systemNode] = &znode{path: systemNode, children: []string{"config", "quota"}}
	t.nodes[quotaNode] = &znode{path: quotaNode}
	t.nodes[configNode] = &znode{path: configNode, acl: []permission{{jute.Read, "world", "anyone"}}, aversion: -1}
}

// node returns a znode, or nil if it does not exist. The empty path also means the root.
func (t *tree) node(path string) *znode {
	if path == "" {
		path = rootNode
	}
	return t.nodes[path]
}

func (t *tree) note(kind EventType, path string, n *znode, acl []permission) {
	t.changes = append(t.changes, change{Event{kind, path}, n, acl})
}

// keep saves a znode's state before it changes.
func (t *tree) keep(path string) {
	if !t.undoing {
		return
	}
	u := undo{path: path, node: t.nodes[path]}
	if u.node != nil {
		u.was = *u.node
		u.was.children = slices.Clone(u.node.children)
	}
	t.undo = append(t.undo, u)
}

// rollBack undoes all changes made since undoing was set to true.
func (t *tree) rollBack() {
	for _, u := range slices.Backward(t.undo) {
		if u.node == nil {
			delete(t.nodes, u.path)
			continue
		}
		*u.node = u.was
		t.nodes[u.path] = u.node
	}
	t.changes = t.changes[:0]
}

// create adds a znode. If the mode is sequential, it appends a number to the path. Because the number can turn an
// invalid path, such as "/locks/", into a valid one, create checks for errors in the same order as
// PrepRequestProcessor.pRequest2TxnCreate.
func (t *tree) create(at Zxid, c *command, owner SessionID) (*znode, Code) {
	path := c.path
	parentPath, name, ok := split(path)
	switch {
	case c.mode == withTTL:
		return nil, Unimplemented
	case !ok || c.mode > ContainerSequential || strings.Contains(path, "\x00"):
		return nil, BadArguments
	}
	var acl []permission
	if c.acl != nil {
		var code Code
		if acl, code = grants(c.acl, c.identities); code != "" {
			return nil, code
		}
	}
	parent := t.nodes[parentPath]
	switch {
	case parent == nil:
		return nil, NoNode
	case !parent.permits(jute.Make, c.identities):
		return nil, NoAuth
	}
	if c.mode.sequential() {
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
	t.keep(path)
	t.keep(parentPath)
	n := &znode{path: path, data: c.data, null: c.null, czxid: at, mzxid: at, pzxid: at, by: c.attempt,
		sequential: c.mode.sequential(), container: c.mode.container(), ctime: c.at, mtime: c.at, acl: acl}
	if c.mode.ephemeral() {
		n.owner = owner
	}
	t.nodes[path] = n
	i, _ := slices.BinarySearch(parent.children, name)
	parent.children = slices.Insert(parent.children, i, name)
	parent.creates++
	parent.pzxid = at
	t.note(NodeCreated, path, n, acl)
	t.note(NodeChildrenChanged, parentPath, nil, parent.acl)
	return n, ""
}

// AnyVersion, if given as a request's version, makes the request unconditional.
const AnyVersion int64 = -1

// versioned returns BadVersion if a request requires a version other than the current one.
func versioned(version, is int64) Code {
	if version != AnyVersion && version != is {
		return BadVersion
	}
	return ""
}

// find returns the znode that a request names. It returns an error if the znode does not exist, or if the client does
// not have permission perm.
func (t *tree) find(c *command, perm int32) (*znode, Code) {
	if !validPath(c.path) {
		return nil, BadArguments
	}
	n := t.nodes[c.path]
	switch {
	case n == nil:
		return nil, NoNode
	case !n.permits(perm, c.identities):
		return nil, NoAuth
	}
	return n, ""
}

func (t *tree) delete(at Zxid, c *command) Code {
	parentPath, _, ok := split(c.path)
	special := []string{rootNode, systemNode, quotaNode, configNode}
	if !ok || strings.Contains(c.path, "\x00") || slices.Contains(special, c.path) {
		return BadArguments
	}
	parent, n := t.nodes[parentPath], t.nodes[c.path]
	switch {
	case parent == nil:
		return NoNode
	case !parent.permits(jute.Remove, c.identities):
		return NoAuth
	case n == nil:
		return NoNode
	}
	if code := versioned(c.version, n.version); code != "" {
		return code
	}
	if len(n.children) > 0 {
		return NotEmpty
	}
	t.remove(at, n)
	return ""
}

// remove removes a znode without children.
func (t *tree) remove(at Zxid, n *znode) {
	parentPath, name, _ := split(n.path)
	t.keep(n.path)
	t.keep(parentPath)
	delete(t.nodes, n.path)
	parent := t.nodes[parentPath]
	if i, found := slices.BinarySearch(parent.children, name); found {
		parent.children = slices.Delete(parent.children, i, i+1)
	}
	parent.pzxid = at
	t.note(NodeDeleted, n.path, n, n.acl)
	t.note(NodeChildrenChanged, parentPath, nil, parent.acl)
}

func (t *tree) setData(at Zxid, c *command) (*znode, Code) {
	n, code := t.find(c, jute.Write)
	if code == "" {
		code = versioned(c.version, n.version)
	}
	if code != "" {
		return nil, code
	}
	t.keep(n.path)
	n.data, n.null, n.mzxid, n.mtime = c.data, c.null, at, c.at
	n.version++
	t.note(NodeDataChanged, n.path, nil, n.acl)
	return n, ""
}

func (t *tree) setACL(c *command) (*znode, Code) {
	if !validPath(c.path) {
		return nil, BadArguments
	}
	acl, code := grants(c.acl, c.identities)
	if code != "" {
		return nil, code
	}
	n, code := t.find(c, jute.Admin)
	if code == "" {
		code = versioned(c.version, n.aversion)
	}
	if code != "" {
		return nil, code
	}
	t.keep(n.path)
	n.acl = acl
	n.aversion++
	return n, ""
}

// check returns an error unless the znode has the version that the request requires.
func (t *tree) check(c *command) Code {
	n, code := t.find(c, jute.Read)
	if code == "" {
		code = versioned(c.version, n.version)
	}
	return code
}

// containers returns the sorted paths of the containers that no longer have any children.
func (t *tree) containers() (paths []string) {
	for path, n := range t.nodes {
		if n.container && n.creates > 0 && len(n.children) == 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
