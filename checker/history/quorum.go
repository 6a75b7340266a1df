package history

// OneService reports whether the header's quorum is one of servers that keep a single copy between them (etcd,
// ZooKeeper), not of groups that each keep their own.
func (h *Header) OneService() bool { return len(h.Groups) > 0 && len(h.Groups) < h.Quorum }

// StatesQuorum reports whether the header says which servers there are, and what a quorum of them is.
func (h *Header) StatesQuorum() bool { return h.Quorum > 0 && len(h.Servers) > 0 }

// IsQuorum reports whether these can grant a lock between them: members of one service, or servers that each keep a
// copy of their own, of which the first of its group stands for a group. Each is named once.
func (h *Header) IsQuorum(servers []Process) bool { return len(servers) >= h.Quorum }
