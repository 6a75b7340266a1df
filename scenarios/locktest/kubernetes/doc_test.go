// Package kubernetes uses package locktest to test unmodified client-go's leader election. It is a separate module,
// because client-go takes minutes to build.
package kubernetes
