package zookeeper

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Zxid numbers an ensemble's transactions. The upper 32 bits are the leader's epoch, and the lower 32 bits are a count
// within the epoch. It increases as long as the ensemble keeps its data, so a znode's Czxid can serve as a fencing
// token. A single server has no epochs.
type Zxid int64

// SessionID identifies a session. It is derived from the zxid of the transaction that created the session. 0 means that
// there is no session.
type SessionID int64

// Mode determines what kind of znode to create.
type Mode uint8

// The znode modes. An ephemeral znode is removed when the session that created it ends. A sequential znode has a
// ten-digit number at the end of its name.
const (
	Persistent Mode = iota
	PersistentSequential
	Ephemeral
	EphemeralSequential
	// ContainerMode is the mode of a znode that the leader deletes some time after the znode's last child has been
	// deleted.
	ContainerMode
	ContainerSequential

	withTTL Mode = 254 // refused, because the ensemble does not enable extended types
	noMode  Mode = 255 // not a valid mode
)

func (m Mode) ephemeral() bool { return m == Ephemeral || m == EphemeralSequential }

// sequential reports whether the ensemble appends a number to the name.
func (m Mode) sequential() bool {
	return m == PersistentSequential || m == EphemeralSequential || m == ContainerSequential
}

func (m Mode) container() bool { return m == ContainerMode || m == ContainerSequential }

// Stat is the metadata that ZooKeeper keeps for a znode.
type Stat struct {
	Czxid          Zxid      // zxid of the transaction that created the znode
	Mzxid          Zxid      // zxid of the last transaction that set the data
	Pzxid          Zxid      // zxid of the last transaction that created or deleted a child
	Version        int64     // number of times the data has been set since its creation
	Cversion       int64     // number of times a child has been created or deleted
	EphemeralOwner SessionID // ID of the session if the znode is ephemeral, otherwise 0
	NumChildren    int64

	// The fields below are sent only in ZooKeeper's own protocol.
	Ctime, Mtime int64 // in ms since the Unix epoch, by the clock of the member that received the request
	Aversion     int64 // number of times the access list has been set
	DataLength   int64 // in bytes
}

// znode is a node in the tree.
type znode struct {
	path                string
	data                string
	null                bool // the data is null, which differs from empty data
	czxid, mzxid, pzxid Zxid
	version             int64
	creates             int64 // number of children that were ever created; also the number of the next sequential child
	owner               SessionID
	by                  history.Attempt // the attempt that created the znode
	sequential          bool
	children            []string // sorted names
	container           bool
	ctime, mtime        int64
	acl                 []permission // nil means that everyone may do everything
	aversion            int64
}

// stat returns the znode's metadata. Cversion counts how often children have been created or deleted. It is computed
// from how many were created and how many there are now, because all others have been deleted (DataNode.copyStat).
func (n *znode) stat() Stat {
	c := int64(len(n.children))
	return Stat{Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Version: n.version, Cversion: 2*n.creates - c,
		EphemeralOwner: n.owner, NumChildren: c, Ctime: n.ctime, Mtime: n.mtime, Aversion: n.aversion,
		DataLength: int64(len(n.data))}
}

// split splits a path into the parent's path and the znode's name, which may be empty. ok is false if the path has no
// slash.
func split(path string) (parent, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", "", false
	}
	return path[:max(i, 1)], path[i+1:], true
}

// validPath reports whether a path is absolute, has no empty or relative parts, and contains only allowed characters
// (PathUtils.validatePath).
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

// forbidden reports whether r is not allowed in a path. It rejects most control characters, surrogates and private-use
// characters, and everything above U+FFF0 except U+FFFF.
func forbidden(r rune) bool {
	return r < 0x1f || r > 0x7f && r < 0x9f || r > 0xd800 && r < 0xf8ff || r > 0xfff0 && r != 0xffff
}

// SequenceDigits is the number of digits at the end of a sequential znode's name.
const SequenceDigits = 10

// numbered appends n to path, as ten digits.
func numbered(path string, n int64) string {
	var room [20]byte
	digits := strconv.AppendInt(room[:0], n, 10)
	return path + strings.Repeat("0", max(0, SequenceDigits-len(digits))) + string(digits)
}

// Sequence returns the number at the end of a sequential znode's name. ok is false if the name does not end in a
// number.
func Sequence(name string) (n int64, ok bool) {
	if len(name) < SequenceDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(name[len(name)-SequenceDigits:], 10, 64)
	return n, err == nil && n >= 0
}
