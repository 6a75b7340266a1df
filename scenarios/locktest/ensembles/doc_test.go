// Package ensembles tests the locks of the clients of etcd and ZooKeeper, unmodified, by package locktest. It is a module
// of its own so that nobody else needs those clients.
package ensembles
