// Package ensembles tests the locks of the clients of etcd and ZooKeeper, unmodified, by package locktest. It is a
// module of its own so that nobody else needs those clients.
package ensembles

import "os"

// full reports whether the tests are to run at their full size, in which nothing that they need may be missing.
func full() bool { return os.Getenv("FENCEPOST_FULL") != "" }
