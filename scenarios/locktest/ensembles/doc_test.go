// Package ensembles uses package locktest to test the locks in unmodified client libraries, such as those for etcd,
// ZooKeeper and Consul. It is a separate module, so that users of the main module do not depend on these libraries.
package ensembles

import "os"

// full reports whether FENCEPOST_FULL is set. If it is, a test fails if the machine lacks a program that the test
// needs.
func full() bool { return os.Getenv("FENCEPOST_FULL") != "" }
