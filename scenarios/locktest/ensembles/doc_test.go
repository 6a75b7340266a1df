// Package ensembles tests the locks of the unmodified client libraries of etcd and ZooKeeper with package locktest. It
// is a separate module, so that other users do not depend on those clients.
package ensembles

import "os"

// full reports whether FENCEPOST_FULL is set. If it is, a test fails if the machine lacks a program that the test
// needs.
func full() bool { return os.Getenv("FENCEPOST_FULL") != "" }
