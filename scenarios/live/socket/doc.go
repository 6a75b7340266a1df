// Package socket reads and writes sockets of the host for a loop that must not wait for them. It uses goroutines and
// sockets of the host.
package socket
