package jute

// Op is an operation number (ZooDefs.OpCode).
type Op int32

// ZooKeeper 3.8's operations. A request that starts a session is sent without an operation number.
const (
	Create               Op = 1
	Delete               Op = 2
	Exists               Op = 3
	GetData              Op = 4
	SetData              Op = 5
	GetACL               Op = 6
	SetACL               Op = 7
	GetChildren          Op = 8
	Sync                 Op = 9
	Ping                 Op = 11
	GetChildren2         Op = 12
	Check                Op = 13
	Multi                Op = 14
	Create2              Op = 15
	Reconfig             Op = 16
	CheckWatches         Op = 17
	RemoveWatches        Op = 18
	CreateContainer      Op = 19
	DeleteContainer      Op = 20
	CreateTTL            Op = 21
	MultiRead            Op = 22
	Auth                 Op = 100
	SetWatches           Op = 101
	SASL                 Op = 102
	GetEphemerals        Op = 103
	GetAllChildrenNumber Op = 104
	SetWatches2          Op = 105
	AddWatch             Op = 106
	WhoAmI               Op = 107
	CreateSession        Op = -10
	CloseSession         Op = -11
)

var names = map[Op]string{Create: "create", Delete: "delete", Exists: "exists", GetData: "getData", SetData: "setData",
	GetACL: "getACL", SetACL: "setACL", GetChildren: "getChildren", Sync: "sync", Ping: "ping",
	GetChildren2: "getChildren2", Check: "check", Multi: "multi", Create2: "create2", Reconfig: "reconfig",
	CheckWatches: "checkWatches", RemoveWatches: "removeWatches", CreateContainer: "createContainer",
	DeleteContainer: "deleteContainer", CreateTTL: "createTTL", MultiRead: "multiRead", Auth: "auth",
	SetWatches: "setWatches", SASL: "sasl", GetEphemerals: "getEphemerals",
	GetAllChildrenNumber: "getAllChildrenNumber", SetWatches2: "setWatches2", AddWatch: "addWatch", WhoAmI: "whoAmI",
	CreateSession: "createSession", CloseSession: "closeSession"}

// Unknown is the name of every operation that ZooKeeper 3.8 does not have.
const Unknown = "unknown"

// String returns the operation's name, or Unknown.
func (o Op) String() string {
	if name, known := names[o]; known {
		return name
	}
	return Unknown
}

// Reserved xids, for requests and replies that the client does not number.
const (
	XidEvent   int32 = -1
	XidPing    int32 = -2
	XidAuth    int32 = -4
	XidWatches int32 = -8
)

// Error codes in replies (KeeperException.Code).
const (
	RuntimeInconsistency    int32 = -2
	MarshallingError        int32 = -5
	Unimplemented           int32 = -6
	BadArguments            int32 = -8
	NoNode                  int32 = -101
	NoAuth                  int32 = -102
	BadVersion              int32 = -103
	NoChildrenForEphemerals int32 = -108
	NodeExists              int32 = -110
	NotEmpty                int32 = -111
	SessionExpired          int32 = -112
	InvalidACL              int32 = -114
	AuthFailed              int32 = -115
	SessionMoved            int32 = -118
	NoWatcher               int32 = -121
)

// Types of watch events (Watcher.Event.EventType). Connected is the session state sent with each event.
const (
	NodeCreated         int32 = 1
	NodeDeleted         int32 = 2
	NodeDataChanged     int32 = 3
	NodeChildrenChanged int32 = 4

	Connected int32 = 3
)

// Flags of create (CreateMode).
const (
	Persistent int32 = iota
	Ephemeral
	PersistentSequential
	EphemeralSequential
	Container
	PersistentTTL
	PersistentSequentialTTL
)

// Kinds of watches in RemoveWatches and CheckWatches (Watcher.WatcherType), and AddWatch modes.
const (
	Children int32 = 1
	Data     int32 = 2
	Any      int32 = 3

	PersistentWatch int32 = 0
	RecursiveWatch  int32 = 1
)

// Permissions (ZooDefs.Perms). All combines the others.
const (
	Read   int32 = 1
	Write  int32 = 2
	Make   int32 = 4 // permission to create children (CREATE)
	Remove int32 = 8 // permission to delete children (DELETE)
	Admin  int32 = 16
	All    int32 = 31
)

// PasswordLength is the length of a session's password in bytes.
const PasswordLength = 16
