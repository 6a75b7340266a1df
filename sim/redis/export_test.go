package redis

// Connections is how many connections a node keeps something for.
func Connections(n *Node) int { return len(n.conns) }

// Full is full, for the tests that see the package from outside.
var Full = full
