package history

import (
	"cmp"
	"slices"
	"strings"
)

// Service is the kind of lock service that a history is about. It is empty if the kind is unknown.
type Service string

// The services that the checker has specific advice for.
const (
	Redis     Service = "redis"   // a single Redis, replicated or not
	Redlock   Service = "redlock" // a majority of Redis masters
	Etcd      Service = "etcd"
	ZooKeeper Service = "zookeeper"
	// Kubernetes leader election: an API server in front of etcd
	Kubernetes Service = "kubernetes"
	Consul     Service = "consul"
)

// ServiceKind describes a kind of lock service: what the laws, the search for causes and the reports need to know about
// it. Apart from the name, the zero value describes servers that each keep their own keys, remove them when they
// expire, and compare owner values.
type ServiceKind struct {
	Name   Service
	OneLog bool // whether the servers are members that replicate one log; otherwise, each of them keeps its own keys
	// Majority means that a client asks several independent servers, and gets the lock if most of them grant it.
	Majority bool
	// Sessions means that a lock lives as long as its client's session or lease, and that the servers can end that
	// session.
	Sessions bool
	// Lives is how long the servers keep a silent client's lock, in TTLs. 0 means one TTL.
	Lives int
	// Unrecorded means that not every session renewal is recorded. A key then exists until its session expires, and the
	// deadline in its record does not show when that is.
	Unrecorded bool
	// ClientsExpire means that servers do not remove a lock when its lease has ended. A waiting client decides by its
	// own clock that the lease has ended, and takes over the lock. A holder may let its lease end instead of releasing
	// the lock.
	ClientsExpire bool
	// Revisions means that owners are distinguished by a revision. If all members lose their disks, the revisions start
	// over.
	Revisions bool
	// Compared and Shared are words for explanations. Compared says what a request compares to find out who owns the
	// lock ("the owner" if empty). Shared says what two owners share if the comparison cannot tell them apart ("a
	// value" if empty).
	Compared, Shared string
}

var serviceKinds []ServiceKind

// RegisterService adds a kind of service. Its name must be unique.
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
	RegisterService(ServiceKind{Name: Consul, OneLog: true, Sessions: true, Lives: 2,
		Compared: "the session of the key", Shared: "a session"})
}

// Kind returns a service's description, with the default words for Compared and Shared. If the service is not
// registered, nothing else but the name is set.
func (s Service) Kind() ServiceKind {
	k := ServiceKind{Name: s}
	if i := slices.IndexFunc(serviceKinds, func(k ServiceKind) bool { return k.Name == s }); i >= 0 {
		k = serviceKinds[i]
	}
	k.Compared, k.Shared = cmp.Or(k.Compared, "the owner"), cmp.Or(k.Shared, "a value")
	return k
}
