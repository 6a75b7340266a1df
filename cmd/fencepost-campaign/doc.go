// Command fencepost-campaign divides a search among any number of processes on any machines, and reports the result as
// a single search. Users call it as fencepost campaign. It is in a separate module, so that other users of Fencepost
// need not compile a NATS server.
//
// Goals: the report equals, byte for byte, the report of the command that searches in one process, whichever processes
// have died meanwhile. A report in which something is missing is never presented as complete. A worker that runs
// another program takes no part. Non-goals: what is searched and how it is reported (cmd/task and the packages below
// scenarios); a scheduler, a protocol, credentials (NATS provides these).
//
// To add a kind of work, add it to kinds. A kind opens a subject from a file and options. The subject carries out
// parts, runs its stages with any campaign.Hands, and reports its result.
//
// This program runs on real machines. The simulator's rules about time, goroutines and files do not apply to it: it
// waits for other processes and starts some. Each run that it performs is still a function of scenario and seed, and
// its report depends on runs alone. It writes to the folder of a campaign through cmd/output, with two exceptions: an
// embedded server's store, which is in the subfolder nats, and a test binary, which is a nameless file on Linux and in
// a temporary folder elsewhere.
package main
