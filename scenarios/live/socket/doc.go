// Package socket reads and writes sockets of the host for a loop that must wait for none of them. It is a room of the
// host: it uses goroutines and sockets.
package socket
