// Package kubernetes tests the unmodified leader election of client-go with package locktest. It is a module of its
// own, because client-go takes minutes to build.
package kubernetes
