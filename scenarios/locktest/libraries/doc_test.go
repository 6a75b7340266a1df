// Package libraries holds adapters of the Go lock libraries that are in wide use, as scenarios/locktest wants a lock,
// and puts each of them under faults. It is a module of its own, so that nobody who imports Fencepost downloads their
// code.
package libraries
