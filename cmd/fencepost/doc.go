// Command fencepost runs scenarios of distributed locks under faults and reports whether the locks keep their promises.
//
// # Where to add what
//
// Each list below names all places that an addition must change, in the order of work. No other place needs a change.
// The example in each list is a test that makes such an addition in test files, and checks that all packages support
// it. "go test -update" rewrites golden files.
//
// A kind of fault: see the package comment of nemesis. A kind of work of campaigns: see that of cmd/fencepost-campaign.
// A request of the simulated ZooKeeper: see that of sim/zookeeper. A Go lock library in the tables of libraries: its
// adapter and its row are in scenarios/locktest/libraries/adapters_test.go.
//
// A lock protocol:
//   - scenarios/locks: a file that registers its name, its place in the reference, its backend, its settings and its
//     constructor. Its own settings are in that file, too; settings shared with other protocols are in
//     scenarios/locks/settings.go. A client library that keeps a session is next to it, as in
//     scenarios/locks/etcd_session.go, or next to the servers, as in sim/zookeeper/client.go.
//   - checker/history/quorum.go, if a quorum is not just a number of its servers: what it is, for all laws.
//   - scenarios/file_doc_test.go: its smallest file; and scenarios/FORMAT.md, by -update.
//   - scenarios/catalogue: a scenario in which it holds and one in which it breaks, both named in
//     scenarios/catalogue.go.
//   - Example: scenarios/locks/ticket_test.go is a ticket lock on INCR; scenarios/locks/ticket_run_test.go runs it.
//
// A law:
//   - checker: a file with its name, which judges it and registers its statement, its gravity, which locks can keep it,
//     and which function of checker/clockerror says what inexact clocks leave open.
//   - checker/slow: a file that judges it in the most obvious way.
//   - checker/cause.go, checker/remedy.go and reports/headline/headline.go, if it can be broken for a new reason: the
//     cause, the remedy and the headline.
//   - checker/testdata/laws: histories that keep it, break it, and do not exercise it; scenarios/FORMAT.md, by
//     -update.
//   - Example: checker/prompt_release_test.go; checker/prompt_release_run_test.go checks that it is judged and counted.
//
// A command of the simulated Redis:
//   - sim/redis/commands.go: its entry, in place of the one that refuses it (sim/redis/table.go, if it is about
//     connections or the node itself); and its function, if miniredis does not execute it.
//   - sim/redis/differential_test.go: patterns by which it is compared with a real server (without any,
//     sim/redis/compared_test.go fails). sim/redis/COMMANDS.md, by -update.
//   - Example: the table of sets in sim/redis/differential_test.go.
//
// A column in the tables of explore, verify and run --seeds:
//   - scenarios/campaign/tally.go, if its value is not counted yet: Count and Add.
//   - scenarios/campaign/table.go: its entry.
//   - scenarios/search/explore_json.go, if it is to be part of --json, too: its field.
//   - Example: scenarios/campaign/table_test.go adds how often a law was exercised.
//
// A column in the tables of compare:
//   - scenarios/compare/timing.go, for a figure: how it is measured, and how each format of the report shows it; or
//     scenarios/compare/survival.go, for a law. scenarios/COMPARISON.md, by -update.
//   - Example: scenarios/compare/figure_test.go adds the longest acquire.
//
// A command that makes many runs:
//   - A file in a package of scenarios: it makes the runs by campaign.Do, describes the result as a document.Document,
//     and lists in Described what --json prints.
//   - cmd/fencepost/main.go: its constructor; a file for its flags; a call in cmd/fencepost/json_test.go, a script in
//     cmd/fencepost/testdata/command, and its row in cmd/fencepost/README.md.
//   - Example: scenarios/compare/odds_test.go and cmd/fencepost/odds.go.
//
// A backend, that is, a kind of lock server, whose parts may all be in one package:
//   - The servers, each a sim.Server, and their sim.Front, if libraries are to use them; sim/README.md.
//   - history.RegisterService (checker/history/service.go): its row, with the facts that judgments and
//     explanations use.
//   - scenarios.RegisterBackend (scenarios/backend.go): its row, which says how the servers are made and configured.
//   - locks.Register (scenarios/locks): a protocol on it, as above. compare.Add (scenarios/compare/contenders.go).
//   - checker/remedy.go, for its own advice; scenarios/live/servers/servers.go, if live runs start real servers.
//   - Example: scenarios/newbackend/lockd_test.go and the files next to it.
package main
