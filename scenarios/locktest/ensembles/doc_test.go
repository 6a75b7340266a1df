// Package ensembles tests the unmodified locks of the clients of etcd and ZooKeeper with package locktest. It is a
// module of its own, so that nobody else needs those clients.
package ensembles

import "os"

// full reports whether the tests run at their full size. Then nothing that they need may be missing on the machine.
func full() bool { return os.Getenv("FENCEPOST_FULL") != "" }
