//go:build race

package testkit

// Race reports whether the race detector is on, which makes tests several times slower.
const Race = true
