package history

// OneService reports whether a quorum is a majority of the members of one replicated service (etcd, ZooKeeper). It
// returns false if each server, or each group of servers, keeps its own copy. It also returns false if the service has
// only one member.
func (h *Header) OneService() bool { return len(h.Groups) > 0 && len(h.Groups) < h.Quorum }

// OnlyMember reports whether the lock service is a single-member cluster. If that member loses its disk, it restarts
// empty, because no other member has its data.
func (h *Header) OnlyMember() bool { return len(h.Servers) == 1 && h.Service.Kind().OneLog }

// StatesQuorum reports whether the header specifies the servers and the size of a quorum.
func (h *Header) StatesQuorum() bool { return h.Quorum > 0 && len(h.Servers) > 0 }

// IsQuorum reports whether the given servers are enough to grant a lock. No server may be listed twice. If each group
// of servers keeps its own copy, only the first server of each group may be listed.
func (h *Header) IsQuorum(servers []Process) bool { return len(servers) >= h.Quorum }
