// Package ensembles uses package locktest to test the locks in unmodified client libraries, such as those for etcd,
// ZooKeeper and Consul. It is a separate module, so that users of the main module do not depend on these libraries.
package ensembles
