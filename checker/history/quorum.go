package history

// OneService reports whether the quorum is a majority of the members of one replicated service (etcd, ZooKeeper), not
// of groups that each keep their own copy.
func (h *Header) OneService() bool { return len(h.Groups) > 0 && len(h.Groups) < h.Quorum }

// OnlyMember reports whether the lock service is a cluster of one member. If that member loses its disk, it comes back
// empty, since no other member has its data.
func (h *Header) OnlyMember() bool { return len(h.Servers) == 1 && h.Service.Kind().OneLog }

// StatesQuorum reports whether the header states the servers and the size of a quorum.
func (h *Header) StatesQuorum() bool { return h.Quorum > 0 && len(h.Servers) > 0 }

// IsQuorum reports whether the given servers can grant a lock together. They are members of one service, or servers
// that each keep their own copy; the first server of a group stands for the group. Each server must be given once.
func (h *Header) IsQuorum(servers []Process) bool { return len(servers) >= h.Quorum }
