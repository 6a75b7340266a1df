package zookeeper

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Zxid numbers the transactions of an ensemble: the leader's epoch in the upper 32 bits, a count within it below. It
// grows as long as the ensemble keeps its data; a znode's Czxid is therefore a fencing token. A single server has no
// epochs.
type Zxid int64

// SessionID names a session. It derives from the zxid of the transaction that created it. Zero is no session.
type SessionID int64

// Mode is the kind of znode to create.
type Mode uint8

// Modes. An ephemeral znode goes with the session that created it; a sequential one has a count of ten digits appended.
const (
	Persistent Mode = iota
	PersistentSequential
	Ephemeral
	EphemeralSequential
	// ContainerMode is of a znode that the leader deletes some time after its last child.
	ContainerMode
	ContainerSequential

	withTTL Mode = 254 // refused: the ensemble has no extended types
	noMode  Mode = 255 // a number that is none
)

func (m Mode) ephemeral() bool { return m == Ephemeral || m == EphemeralSequential }

// sequential reports whether the ensemble ends the name with a number.
func (m Mode) sequential() bool {
	return m == PersistentSequential || m == EphemeralSequential || m == ContainerSequential
}

func (m Mode) container() bool { return m == ContainerMode || m == ContainerSequential }

// Stat is what ZooKeeper reports about a znode apart from its data.
type Stat struct {
	Czxid          Zxid      // of the transaction that created it
	Mzxid          Zxid      // of the last one that set its data
	Pzxid          Zxid      // of the last one that created or deleted a child
	Version        int64     // how often the data has been set since
	Cversion       int64     // how often a child has been created or deleted
	EphemeralOwner SessionID // 0 if it is persistent, or a container
	NumChildren    int64

	// The rest only ZooKeeper's own protocol carries.
	Ctime, Mtime int64 // ms since the Unix epoch, by the clock of the member that was asked
	Aversion     int64 // how often the access list has been set
	DataLength   int64 // bytes
}

// znode is one node of the tree.
type znode struct {
	path                string
	data                string
	null                bool // it has no data, which is not the same as empty data
	czxid, mzxid, pzxid Zxid
	version             int64
	creates             int64 // children ever created; the next sequential child gets this number
	owner               SessionID
	by                  history.Attempt // on whose behalf it was created
	sequential          bool
	children            []string // names, sorted
	container           bool
	ctime, mtime        int64
	acl                 []permission // nil: everybody may do everything
	aversion            int64
}

// stat converts the count of creates into one of changes: every create has had its delete, except for the children that
// still exist (DataNode.copyStat).
func (n *znode) stat() Stat {
	c := int64(len(n.children))
	return Stat{Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Version: n.version, Cversion: 2*n.creates - c,
		EphemeralOwner: n.owner, NumChildren: c, Ctime: n.ctime, Mtime: n.mtime, Aversion: n.aversion,
		DataLength: int64(len(n.data))}
}

// split divides a path into its parent's and its own name, which may be empty; ok is false without a slash.
func split(path string) (parent, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", "", false
	}
	return path[:max(i, 1)], path[i+1:], true
}

// validPath reports whether path is absolute, without empty or relative parts, and of characters that may stand in
// one (PathUtils.validatePath).
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if strings.ContainsFunc(path, forbidden) {
		return false
	}
	rest, ok := strings.CutPrefix(path, "/")
	for ok && rest != "" {
		part, more, further := strings.Cut(rest, "/")
		if part == "" || part == "." || part == ".." {
			return false
		}
		if !further {
			return true
		}
		rest = more
	}
	return false
}

// forbidden is true of what Java takes for control characters and the like; beyond 16 bits, of everything.
func forbidden(r rune) bool {
	return r < 0x1f || r > 0x7f && r < 0x9f || r > 0xd800 && r < 0xf8ff || r > 0xfff0 && r != 0xffff
}

// SequenceDigits is the width of the number of a sequential znode.
const SequenceDigits = 10

// numbered appends the count of ten digits.
func numbered(path string, n int64) string {
	var room [20]byte
	digits := strconv.AppendInt(room[:0], n, 10)
	return path + strings.Repeat("0", max(0, SequenceDigits-len(digits))) + string(digits)
}

// Sequence is the number at the end of the name of a sequential znode; ok is false if there is none.
func Sequence(name string) (n int64, ok bool) {
	if len(name) < SequenceDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(name[len(name)-SequenceDigits:], 10, 64)
	return n, err == nil && n >= 0
}
