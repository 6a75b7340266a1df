// Command fencepost-campaign divides searches among any number of processes on any machines, and reports as one. People
// call it as fencepost campaign; it is a module of its own, so that nobody else compiles a NATS server.
//
// Goals: the report is that of the undivided command, to the byte, whatever has died meanwhile, and never that of a
// whole when something is missing; a worker that is another program takes no part. Non-goals: what is searched, and how
// it is reported (cmd/task and the packages of scenarios below it); a scheduler, a protocol, credentials (NATS).
//
// To add a kind of work, add it to kinds: what is opened from a file and options, makes parts, runs its stages by any
// hands, and concludes.
//
// This is a program on real machines. The house's rules about time, goroutines and files do not hold in it: it waits
// for other processes and starts some. A run that it makes is still a function of scenario and seed, and what it
// reports is made of runs alone. It writes to the folder of a campaign through cmd/output, but for the store of a
// server that it starts, which is in the subfolder nats, and for a test binary, which has no name on Linux and lies in
// a temporary folder elsewhere.
package main
