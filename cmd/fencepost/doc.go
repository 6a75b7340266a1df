// Command fencepost runs distributed-lock scenarios under faults and reports whether the locks keep their promises.
//
// # Where to add what
//
// Each list below names all files that an addition must change, in order. The example at its end is a test that makes
// such an addition in test files, and checks that all packages support it. "By -update" means that "go test -update"
// writes the file, which is a golden file.
//
// A kind of fault: see the package comment of nemesis. A kind of work for campaigns: see the package comment of
// cmd/fencepost-campaign. A request for the simulated ZooKeeper: see the package comment of sim/zookeeper. A Go library
// in the lock library tables: see scenarios/locktest/libraries/adapters_test.go.
//
// A lock protocol:
//   - scenarios/locks: a file that registers its name, its place in the reference, its backend, its settings and its
//     constructor. That file also defines its own settings; settings shared with other protocols are in
//     scenarios/locks/settings.go. A client library that keeps a session is next to it, as in
//     scenarios/locks/etcd_session.go, or next to the servers, as in sim/zookeeper/client.go.
//   - checker/history/quorum.go, if its quorum is not just a number of servers: the definition that all laws use.
//   - scenarios/file_doc_test.go: its smallest scenario file. scenarios/FORMAT.md, by -update.
//   - scenarios/catalogue: a scenario in which it holds and one in which it breaks. scenarios/catalogue.go names both.
//   - Example: scenarios/locks/ticket_test.go is a ticket lock on INCR; scenarios/locks/ticket_run_test.go runs it.
//
// A law:
//   - checker: a file that is named after it and judges it. The file registers its statement, its gravity, the locks
//     that can uphold it, and the function in checker/clockerror that explains when inexact clocks make it undecided.
//   - checker/slow: a file that judges it in the most obvious way.
//   - checker/cause.go, checker/remedy.go and reports/headline/headline.go, if it can be broken for a new reason: the
//     cause, the remedy and the headline.
//   - checker/testdata/laws: histories that uphold it, break it, and do not exercise it. scenarios/FORMAT.md, by
//     -update.
//   - Example: checker/prompt_release_test.go; checker/prompt_release_run_test.go checks that it is judged and counted.
//
// A command in the simulated Redis:
//   - sim/redis/commands.go: its entry, instead of the one that refuses it, and its function, if miniredis does not
//     execute it. If it is about connections or the node itself, its entry is in sim/redis/table.go.
//   - sim/redis/differential_test.go: call patterns that compare it with a real server. If there are none,
//     sim/redis/compared_test.go fails. sim/redis/COMMANDS.md, by -update.
//   - Example: the set table in sim/redis/differential_test.go.
//
// A column in the tables of explore, verify and run --seeds:
//   - scenarios/campaign/tally.go, if its value is not counted yet: the Count and Add methods.
//   - scenarios/campaign/table.go: its entry.
//   - scenarios/search/explore_json.go, if --json should also contain it: its field.
//   - Example: scenarios/campaign/table_test.go adds a column that shows how often a law was exercised.
//
// A column in the tables of compare:
//   - scenarios/compare/timing.go, for a figure: how it is measured, and how each report format shows it.
//     scenarios/compare/survival.go, for a law. scenarios/COMPARISON.md, by -update.
//   - Example: scenarios/compare/figure_test.go adds the longest acquire.
//
// A command that makes many runs:
//   - A file in a package of scenarios: it makes the runs with a campaign.Work, describes the result as a document,
//     and lists in Described the JSON that --json prints.
//   - cmd/fencepost/main.go: its constructor. Also a file for its flags, a call in cmd/fencepost/json_test.go, a script
//     in cmd/fencepost/testdata/command, and its row in cmd/fencepost/README.md.
//   - Example: scenarios/compare/odds_test.go and cmd/fencepost/odds.go.
//
// A backend, that is, a kind of lock server, whose code may all be in one package:
//   - The servers, each a sim.Server. Their sim.Front, if libraries are to use them. sim/README.md.
//   - A call to history.RegisterService (checker/history/service.go): the facts that judgments and explanations use.
//   - A call to scenarios.RegisterBackend (scenarios/backend.go): how the servers are made and configured.
//   - A call to locks.Register (scenarios/locks): a protocol that uses the backend, as above. A call to compare.Add
//     (scenarios/compare/contenders.go).
//   - checker/remedy.go, for its own advice. For live runs on real servers: a package such as
//     scenarios/live/consulserver, its row in scenarios/live/servers/servers.go and in that package's test, the tables
//     in scenarios/live/README.md and cmd/fencepost/README.md, and a step in .ci/install or .ci/full.
//   - Example: scenarios/newbackend/lockd_test.go and the files next to it.
package main
