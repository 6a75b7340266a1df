// Package kubernetes tests the leader election of client-go, unmodified, by package locktest. It is a module of its
// own: client-go takes minutes to build.
package kubernetes
