package redis

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// uncompared lists the simulated Redis 7.0 commands that no test compares with redis-server, with the reason for each.
var uncompared = map[string]string{
	"client|id": "each server numbers its own connections",
	"info":      "most of it administers a real server; TestVersionIsGivenInEveryText compares the version",
}

// patterns returns all patterns for random comparisons with redis-server, grouped by table.
func patterns() [][]string {
	tables := [][]string{slices.Concat(waits, pushes), slices.Concat(modern, cached), notified, looking}
	for _, family := range slices.Sorted(maps.Keys(families)) {
		tables = append(tables, families[family])
	}
	return tables
}

// commandNames lists the commands and subcommands that a pattern can begin with. For "SCRIPT LOAD|FLUSH", these are
// script, script|load and script|flush.
func commandNames(pattern string) (names []string) {
	words := strings.Fields(strings.ToLower(pattern))
	for _, name := range strings.Split(words[0], "|") {
		names = append(names, name)
		if len(words) > 1 {
			for _, sub := range strings.Split(words[1], "|") {
				names = append(names, name+"|"+sub)
			}
		}
	}
	return names
}

// simulatedNames lists the commands and subcommands that a node of the given version executes.
func simulatedNames(v Version) (names []string) {
	for name, c := range commands[v] {
		if name != c.Name {
			continue // skip the entry for the name in upper case
		}
		names = append(names, name)
		for sub := range c.Subs {
			names = append(names, name+"|"+sub)
		}
	}
	slices.Sort(names)
	return names
}

// TestEveryCommandIsCompared checks that some test compares each simulated command: a command of Redis 7.0 with a real
// redis-server, unless uncompared says why not, and any other command with the replies in the documentation for its
// version.
func TestEveryCommandIsCompared(t *testing.T) {
	real, documented := map[string]bool{}, map[string]bool{}
	for _, table := range patterns() {
		for _, pattern := range table {
			for _, name := range commandNames(pattern) {
				real[name] = true
			}
		}
	}
	for _, line := range slices.Concat(clusterTemplates, clusterLooks) {
		for _, name := range commandNames(line) {
			real[name] = true
		}
	}
	for _, line := range pairScript {
		for _, name := range commandNames(line[len("1 "):]) {
			real[name] = true
		}
	}
	for _, lines := range compares {
		for line := range strings.Lines(strings.TrimSpace(lines)) {
			for _, name := range commandNames(line) {
				documented[name] = true
			}
		}
	}
	for _, lines := range diskPlays(t) {
		for _, line := range lines {
			for _, name := range commandNames(line[0][len("1 "):]) {
				documented[name] = true
			}
		}
	}
	for _, c := range waits8 {
		for _, step := range strings.Split(c.steps, "; ") {
			for _, name := range commandNames(step[len("1 "):]) {
				documented[name] = true
			}
		}
	}
	of7 := simulatedNames(Redis7)
	for _, name := range of7 {
		switch why := uncompared[name]; {
		case !real[name] && why == "":
			t.Errorf("nothing compares %s with redis-server: give families a pattern of it, or uncompared a reason",
				inCapitals(name))
		case real[name] && why != "":
			t.Errorf("%s is compared, although %s", inCapitals(name), why)
		}
	}
	for name := range uncompared {
		if !slices.Contains(of7, name) {
			t.Errorf("%s is not simulated", inCapitals(name))
		}
	}
	for _, v := range []Version{Redis8, Tair} {
		for _, name := range simulatedNames(v) {
			if !slices.Contains(of7, name) && !documented[name] {
				t.Errorf("nothing compares %s of %v with its documents: give compares a line of it",
					inCapitals(name), v)
			}
		}
	}
}

// TestEveryCommandIsCarriedOutAsByRedis tests each command. It sends random commands from the command's patterns, mixed
// with others from the same table, until the command has succeeded. If a command always failed, the comparison would
// prove little.
func TestEveryCommandIsCarriedOutAsByRedis(t *testing.T) {
	plays, inPlay := 60, testkit.Size(20, 60, 60)
	r := newRig(t, 4)
	v := vocabulary{rand.New(rand.NewPCG(21, 4))}
	for _, name := range simulatedNames(Redis7) {
		var own, beside []string
		for _, table := range patterns() {
			of := slices.DeleteFunc(slices.Clone(table),
				func(p string) bool { return !slices.Contains(commandNames(p), name) })
			if len(of) > 0 {
				own, beside = append(own, of...), append(beside, table...)
			}
		}
		if len(own) == 0 {
			continue // TestEveryCommandIsCompared checks that another test compares it, or that uncompared lists it
		}
		for play := 0; play < plays && !r.carried[name]; play++ {
			var steps []step
			for len(steps) < inPlay {
				of := own
				if v.IntN(2) == 0 {
					of = beside
				}
				steps = append(steps, step{conn: v.IntN(4), args: v.spell(v.one(of...))})
			}
			r.differ(steps)
		}
		if !r.carried[name] {
			t.Errorf("%s: every reply that was compared is an error", inCapitals(name))
		}
	}
	t.Logf("%d commands compared", r.compared)
}
