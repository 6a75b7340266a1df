package redis

// Connections is how many connections a node keeps something for.
func Connections(n *Node) int { return len(n.conns) }
