package history

// Order is a fair lock's promise: clients get the lock in the order in which they ask for it.
type Order struct {
	// Slack, in ns, is how far apart two requests may be and still be granted in either order, because they may reach
	// the servers in either order. A client that asks later than that must wait for the one that asked first.
	Slack Time `json:"slack"`
	// Turn, in ns, is how long the lock may stay free while a client is waiting. It includes the time until a client
	// that has stopped waiting is removed from the servers' queue. 0 means that no order is promised.
	Turn Time `json:"turn"`
}

// IsPromised reports whether the lock promises an order.
func (o Order) IsPromised() bool { return o.Turn > 0 }
