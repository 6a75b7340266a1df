// Command fencepost-campaign divides a search among any number of processes on any machines, and reports the result as
// a single search. Users run it as "fencepost campaign". It is in a separate module, so that other users of Fencepost
// need not compile a NATS server.
//
// Goals: the report equals, byte for byte, the report of the command that searches in one process, no matter which
// processes died during the campaign. A report that lacks something is never presented as complete. A worker whose
// program differs from the campaign's cannot take part.
//
// Non-goals: what is searched and how it is reported (see cmd/task and the packages below scenarios); a scheduler, a
// protocol, and credentials (NATS provides these).
//
// To add a kind of work, add an entry to the kinds variable. The entry says how to open a subject from a file and
// options. The subject processes portions, runs its stages with any campaign.Hands, and reports its result.
//
// This program runs on real machines. The simulator's rules about time, goroutines and files do not apply to it: it
// waits for other processes and starts some. But each run that it executes depends only on the scenario and the seed,
// and its report depends only on the runs. It writes to a campaign's folder through cmd/output, with two exceptions. An
// embedded server stores its data in the nats subfolder. A test binary is an unnamed file on Linux, and a file in a
// temporary folder elsewhere.
package main
