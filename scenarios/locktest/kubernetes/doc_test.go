// Package kubernetes tests the leader election of the unmodified client-go with package locktest. It is a separate
// module, because client-go takes minutes to build.
package kubernetes
