package history

// Order is a fair lock's promise: clients get the lock in the order in which they ask for it.
type Order struct {
	// Slack, in ns, is a difference between the times of two requests. If they are no further apart than this, they may
	// reach the servers in either order, and so be granted in either order. A client that asks later than that must
	// wait for the one that asked first.
	Slack Time `json:"slack"`
	// Turn, in ns, is how long the lock may stay free while a client is waiting. It includes the time until a client
	// that has stopped waiting is removed from the servers' queue. 0 means that no order is promised.
	Turn Time `json:"turn"`
}

// IsPromised reports whether the lock promises an order.
func (o Order) IsPromised() bool { return o.Turn > 0 }
