// Package etcd is what clients and members of etcd say to each other in Fencepost: requests of words, and answers in
// RESP. What they mean stands with package etcd.
//
// Goals: one reading of a request, for the simulated member and for whoever asks a real one in its place. Non-goals: to
// carry requests out.
package etcd
