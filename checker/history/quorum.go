package history

// OneService reports whether the header's quorum is one of servers that share a single copy (etcd, ZooKeeper), not of
// groups that each keep their own.
func (h *Header) OneService() bool { return len(h.Groups) > 0 && len(h.Groups) < h.Quorum }

// OnlyMember reports whether the lock service is a cluster of one member, which comes back empty if it loses its disk:
// nobody else has what it had.
func (h *Header) OnlyMember() bool { return len(h.Servers) == 1 && h.Service.OneLog() }

// StatesQuorum reports whether the header states which servers exist and what a quorum of them is.
func (h *Header) StatesQuorum() bool { return h.Quorum > 0 && len(h.Servers) > 0 }

// IsQuorum reports whether the given servers can grant a lock together: members of one service, or servers that each
// keep their own copy, where the first of a group stands for the group. Each is named once.
func (h *Header) IsQuorum(servers []Process) bool { return len(servers) >= h.Quorum }
