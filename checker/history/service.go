package history

import (
	"cmp"
	"slices"
	"strings"
)

// Service is the kind of lock service in a history. It is empty if unknown.
type Service string

// The services for which the checker gives advice of their own.
const (
	Redis     Service = "redis"   // one Redis, replicated or not
	Redlock   Service = "redlock" // a majority of Redis masters
	Etcd      Service = "etcd"
	ZooKeeper Service = "zookeeper"
	// leader election in Kubernetes: an API server in front of etcd
	Kubernetes Service = "kubernetes"
)

// ServiceKind describes a kind of lock service: what the laws, the causes and the words of reports need to know of it.
// Its zero value, but for the name, describes servers that each keep their own keys, remove them when they expire, and
// compare owner values.
type ServiceKind struct {
	Name   Service
	OneLog bool // the servers are members that replicate one log; otherwise each of them keeps its own keys
	// Majority says that a client asks several independent servers, and has the lock if most of them grant it.
	Majority bool
	// Sessions says that a lock lives as long as its client's session or lease, which the servers can end.
	Sessions bool
	// Unrecorded says that not each renewal of a session is recorded. Then a key exists until its session expires, and
	// a record's deadline does not show when that is.
	Unrecorded bool
	// ClientsExpire says that no server removes a lock whose lease is over. A client that waits decides that by its own
	// clock, and takes the lock over. Its holder may let the lease end instead of giving the lock back.
	ClientsExpire bool
	// Revisions says that owners are told apart by a revision, which begins anew if all members lose their disks.
	Revisions bool
	// Compared is what a request compares to tell whose the lock is, and Shared what two owners have in common if that
	// does not tell them apart. If they are empty, these are "the owner" and "a value".
	Compared, Shared string
}

var serviceKinds []ServiceKind

// RegisterService adds a kind of service. It must have a name of its own.
func RegisterService(k ServiceKind) {
	serviceKinds = append(serviceKinds, k)
	slices.SortFunc(serviceKinds, func(a, b ServiceKind) int { return strings.Compare(string(a.Name), string(b.Name)) })
}

func init() {
	RegisterService(ServiceKind{Name: Redis})
	RegisterService(ServiceKind{Name: Redlock, Majority: true})
	RegisterService(ServiceKind{Name: Etcd, OneLog: true, Sessions: true, Revisions: true,
		Compared: "the revision of the key", Shared: "a key"})
	RegisterService(ServiceKind{Name: ZooKeeper, OneLog: true, Sessions: true, Unrecorded: true,
		Compared: "the name of the znode", Shared: "a name"})
	RegisterService(ServiceKind{Name: Kubernetes, OneLog: true, ClientsExpire: true,
		Compared: "the version of the record", Shared: "an identity"})
}

// Kind returns the description of a service, or the zero value, but for the name, if it is not registered.
func (s Service) Kind() ServiceKind {
	k := ServiceKind{Name: s}
	if i := slices.IndexFunc(serviceKinds, func(k ServiceKind) bool { return k.Name == s }); i >= 0 {
		k = serviceKinds[i]
	}
	k.Compared, k.Shared = cmp.Or(k.Compared, "the owner"), cmp.Or(k.Shared, "a value")
	return k
}
