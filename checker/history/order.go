package history

// Order is the promise of a fair lock: clients get the lock in the order in which they ask for it.
type Order struct {
	// Slack, in ns, is the maximum time between two requests that may be granted in either order, because they may
	// reach the servers in either order. A client that asks later must wait for the client that asked first.
	Slack Time `json:"slack"`
	// Turn, in ns, is the longest time for which the lock may stay free while a client waits. It includes the time
	// until a client that has stopped waiting is removed from the servers' queue. 0 means that no order is promised.
	Turn Time `json:"turn"`
}

// IsPromised reports whether the lock promises an order.
func (o Order) IsPromised() bool { return o.Turn > 0 }
