// Command fencepost runs scenarios of distributed locks under faults and reports whether the lock still excludes.
//
// # Where to add what
//
// Each list names all places of a new thing, in the order of work; a test adds such a thing in test files, and checks
// that all packages support it. What a list leaves out finds the new thing by itself. Goldens are renewed by go test
// -update.
//
// A kind of fault: see the package comment of nemesis. A kind of work of campaigns: see that of cmd/fencepost-campaign.
//
// A lock protocol:
//   - scenarios/locks, a file that registers its name, place in the reference, backend, settings, and
//     constructor. Settings of its own stand there too; those that others share are in
//     scenarios/locks/settings.go. A client library that keeps a session stands beside it, as
//     scenarios/locks/etcd_session.go does, or beside the servers, as sim/zookeeper/client.go does.
//   - checker/history/quorum.go, if its servers do not decide by their number: what a quorum is, for all laws.
//   - scenarios/file_doc_test.go, its least file, and scenarios/FORMAT.md, by -update.
//   - scenarios/catalogue, a scenario in which it holds and one in which it breaks, both named in
//     scenarios/catalogue.go.
//   - Example: scenarios/locks/ticket_test.go is a ticket lock on INCR; scenarios/locks/ticket_run_test.go
//     runs, judges, sweeps and lists it.
//
// A law:
//   - checker, a file of its name: it judges the law, and registers what it states, how grave it is, which locks
//     can keep it, and which function of checker/clockerror says what inexact clocks leave open.
//   - checker/slow, a file that reads it in the obvious way.
//   - checker/cause.go, checker/remedy.go and reports/headline/headline.go, if it may be broken for a reason of its
//     own: the cause, what helps, and its headline.
//   - checker/testdata/laws, histories that keep it, break it, and do not exercise it; scenarios/FORMAT.md, by
//     -update.
//   - Example: checker/prompt_release_test.go is a law on the length of sections;
//     checker/prompt_release_run_test.go has it expected, promised, judged and counted.
//
// A command of the simulated Redis:
//   - sim/redis/commands.go, its row in place of the one that refuses it (sim/redis/table.go, if it is about
//     connections or the node itself); and its function, if miniredis does not carry it out.
//   - sim/redis/differential_test.go, patterns by which it is compared with a real server: without any,
//     sim/redis/compared_test.go fails. sim/redis/COMMANDS.md, by -update.
//   - Example: the table of sets in sim/redis/differential_test.go.
//
// A column in the tables of explore, verify and run --seeds:
//   - scenarios/campaign/tally.go, if what it shows is not counted yet: Count and Add.
//   - scenarios/campaign/table.go, its entry.
//   - scenarios/search/explore_json.go if --json is to have it, too: its field.
//   - Example: scenarios/campaign/table_test.go adds how often a law was exercised.
//
// A column in the tables of compare:
//   - scenarios/compare/timing.go, a figure: how it is measured, and how each form of the report shows it; or
//     scenarios/compare/survival.go, a law. scenarios/COMPARISON.md, by -update.
//   - Example: scenarios/compare/figure_test.go adds the longest acquire.
//
// A backend, a kind of lock server:
//   - sim, a room with the servers, each a sim.Server; how the real ones were read stands in sim/README.md.
//   - scenarios/locks/protocols.go, its name; and a protocol on it, as above.
//   - scenarios, a file backend_NAME.go that registers its key under servers, how many there may be, and how
//     they are made.
//   - checker/history/measure.go and checker/remedy.go, if advice on it is another.
//   - Example: scenarios/backend_test.go adds Valkey.
package main
