package redis

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// listed is a command from a list in testdata. For a command in redis-server 7.0.15, the list contains the information
// from the reply to COMMAND: the arity, whether the command may change data, and whether scripts may call it. For a
// later command, the list contains the version that added it. A subcommand is written after its command, separated by a
// bar.
type listed struct {
	name  string
	arity int
	flags []string
}

// readCommands reads the list of Redis 7.0 commands and, for Redis 8, also the list of later commands.
func readCommands(t *testing.T, v Version) (list []listed) {
	t.Helper()
	for _, file := range []string{"testdata/commands-7.0.txt", "testdata/commands-8.txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			arity, _ := strconv.Atoi(words[1]) // 0 if the word is a version
			list = append(list, listed{words[0], arity, words[2:]})
		}
		if v != Redis8 {
			break
		}
	}
	return list
}

// simulated finds a command or subcommand that a node of the given version executes, and returns it with its arity.
func simulated(v Version, name string) (c *nodeCommand, arity int) {
	name, sub, is := strings.Cut(name, "|")
	c = commands[v][name]
	switch {
	case c == nil:
		return nil, 0
	case !is:
		return c, c.Arity
	}
	arity, known := c.Subs[sub]
	if !known {
		return nil, 0
	}
	return c, arity
}

// whyRefused returns the reason why a command or subcommand is refused. A subcommand is also refused if its command is.
func whyRefused(v Version, name string) string {
	container, _, _ := strings.Cut(name, "|")
	if why := refusedBecause(v, container); why != "" {
		return why
	}
	return refusedBecause(v, name)
}

// TestEveryCommandIsSimulatedOrRefused checks that each of a version's commands is either executed or refused with a
// reason, and that the node has no other commands.
func TestEveryCommandIsSimulatedOrRefused(t *testing.T) {
	for _, v := range []Version{Redis7, Redis8} {
		m := newMachine(Config{Version: v})
		var names []string
		for _, l := range readCommands(t, v) {
			names = append(names, l.name)
			c, arity := simulated(v, l.name)
			why := whyRefused(v, l.name)
			words := strings.Split(l.name, "|")
			reply := m.args("client-1/1", append(words, "x", "x", "x")...)
			m = newMachine(Config{Version: v})
			switch {
			case (c == nil) == (why == ""):
				t.Errorf("%v: %s is simulated: %v, and refused since %q", v, l.name, c != nil, why)
			case c == nil && !strings.HasPrefix(reply, "-ERR fencepost: "):
				t.Errorf("%v: %s is refused, and replies %q", v, l.name, reply)
			case c != nil && l.arity != 0 && arity != l.arity:
				t.Errorf("%v: the arity of %s is %d, not %d", v, l.name, l.arity, arity)
			}
		}
		for name, c := range commands[v] {
			if name == c.Name && !slices.Contains(names, name) {
				t.Errorf("%v: there is no command %s", v, name)
			}
			for sub := range c.Subs {
				if !slices.Contains(names, c.Name+"|"+sub) {
					t.Errorf("%v: there is no subcommand %s of %s", v, sub, c.Name)
				}
			}
		}
	}
}

// TestFlagsOfCommandsAreThoseOfRedis checks that the node and Redis agree on which commands may change data, and on
// which commands scripts must not call. It omits commands that have subcommands, because in the node such a command has
// its subcommands' flags.
func TestFlagsOfCommandsAreThoseOfRedis(t *testing.T) {
	for _, l := range readCommands(t, Redis7) {
		c, _ := simulated(Redis7, l.name)
		if c == nil || c.Subs != nil && !strings.Contains(l.name, "|") {
			continue
		}
		_, sub, _ := strings.Cut(l.name, "|")
		check(t, l.name+" writes", c.Flags&write != 0 || slices.Contains(c.writers, sub),
			slices.Contains(l.flags, "write"))
		check(t, l.name+" is not for scripts", c.Flags&noScript != 0, slices.Contains(l.flags, "noscript"))
	}
}

// TestListOfCommandsIsThatOfRedis compares the list of Redis 7.0 commands in testdata with a real server's reply to
// COMMAND.
func TestListOfCommandsIsThatOfRedis(t *testing.T) {
	reply, _ := resp.Parse([]byte(startRealRedis(t).dial().do("COMMAND")))
	var lines []string
	var add func(v resp.Value)
	add = func(v resp.Value) {
		line := v.List[0].Text + " " + v.List[1].Text
		for _, flag := range v.List[2].Texts() {
			if flag == "write" || flag == "noscript" {
				line += " " + flag
			}
		}
		lines = append(lines, line+"\n")
		for _, sub := range v.List[9].List {
			add(sub)
		}
	}
	for _, v := range reply.List {
		add(v)
	}
	slices.Sort(lines)
	testkit.Golden(t, "testdata/commands-7.0.txt", strings.Join(lines, ""))
}

// TestLaterCommandsAreUnknownToRedis7 compares a version 7.0 node with a real server. It sends all commands, options
// and subcommands that exist only in other versions.
func TestLaterCommandsAreUnknownToRedis7(t *testing.T) {
	real := startRealRedis(t).dial()
	m := newMachine(Config{})
	lines := []string{"SET lock a IFEQ b", "SET lock a IFNE b", "SET lock a IFNE b PX 1000", "SET lock a IFDEQ b",
		"GETEX lock IFEQ a", "EVAL return(redis.call('wait',0,0)) 0", "EVAL return(redis.call('blpop','a',0)) 0",
		"EVAL return(redis.call('delex','a')) 0", "EVAL return(redis.pcall('cad','a','b')) 0", "DELIFEQ lock a",
		"EVAL return(redis.REDIS_VERSION) 0"}
	for _, v := range []Version{Redis8, Tair} {
		for _, l := range slices.Sorted(maps.Keys(commands[v])) {
			if commands[Redis7][l] == nil {
				lines = append(lines, l, l+" lock", l+" lock IFEQ a")
			}
		}
	}
	for _, l := range readCommands(t, Redis8)[len(readCommands(t, Redis7)):] {
		if whyRefused(Redis7, l.name) == "" { // skip if the whole command is not simulated
			lines = append(lines, strings.ReplaceAll(l.name, "|", " ")+" x y z")
		}
	}
	for _, line := range lines {
		want := real.do(strings.Fields(line)...)
		check(t, line, *m.send("client-1/1", strings.Fields(line)...), want)
	}
	if len(lines) < 40 {
		t.Errorf("only %d commands were compared", len(lines))
	}
}

// TestVersionIsGivenInEveryText checks that HELLO, INFO and scripts report the simulated version.
func TestVersionIsGivenInEveryText(t *testing.T) {
	real := startRealRedis(t).dial()
	m := newMachine(Config{})
	for version, want := range map[Version]string{Redis7: "7.0.15", Redis8: "8.4.0",
		Tair: "7.0.15"} {
		m.stop(0)
		m.node.Reset(Config{Version: version})
		m.start()
		for _, line := range []string{"HELLO 2", "INFO server", "EVAL return(redis.REDIS_VERSION) 0"} {
			args := strings.Fields(line)
			if got := m.args("client-1/1", args...); !strings.Contains(got, want) {
				t.Errorf("%s of %v: %q", line, want, got)
			}
			if got := real.do(args...); !strings.Contains(got, "7.0.15") {
				t.Errorf("%s of Redis: %q", line, got)
			}
		}
	}
}

// TestInfoOmitsAnEmptyDatabase compares INFO's section about keys with Redis's, without a key and with one.
func TestInfoOmitsAnEmptyDatabase(t *testing.T) {
	real := startRealRedis(t).dial()
	m := newMachine(Config{})
	for _, change := range []string{"FLUSHALL", "SET key value", "DEL key"} {
		args := strings.Fields(change)
		m.args("client-1/1", args...)
		real.do(args...)
		got, want := m.args("client-1/1", "INFO", "keyspace"), real.do("INFO", "keyspace")
		if strings.Contains(got, "db0:keys=1") != strings.Contains(want, "db0:keys=1") ||
			strings.Contains(got, "db0") != strings.Contains(want, "db0") {
			t.Errorf("after %s: %q, and of Redis %q", change, got, want)
		}
	}
}

// TestDocumentOfCommands checks that COMMANDS.md agrees with the node's command tables.
func TestDocumentOfCommands(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Commands of the simulated Redis

After reading this page you can tell whether the commands and scripts of your lock run here.

A server has the commands of its version (` + "`servers.version` in a scenario" + `). Version 7.0 is redis-server
7.0.15, and tests compare the two. Version 8 follows the documentation of Redis 8.4, without the commands of its
modules; tests compare field deadlines and WAITAOF with redis-server 8.2.3. Version tair is 7.0 with Tair's CAD and
CAS. If a version has a command that is not simulated, the command is refused with an error that begins
` + "`ERR fencepost: NAME is not simulated`" + ` and states the reason. A command that a version does not have is
unknown, as it is to the real server.

This list is complete: ` + "`go test ./sim/redis -run Command -update`" + ` generates it from the tables in the code
and from the reply of redis-server to COMMAND.

`)
	b.WriteString("| version | commands | simulated | refused | subcommands | simulated | refused |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, v := range []Version{Redis7, Redis8} {
		var count [2][2]int // by commands and subcommands, and by simulated and refused
		for _, l := range readCommands(t, v) {
			c, _ := simulated(v, l.name)
			count[strings.Count(l.name, "|")][map[bool]int{true: 0, false: 1}[c != nil]]++
		}
		fmt.Fprintf(&b, "| %v | %d | %d | %d | %d | %d | %d |\n", v, count[0][0]+count[0][1], count[0][0], count[0][1],
			count[1][0]+count[1][1], count[1][0], count[1][1])
	}
	b.WriteString("\n## Simulated\n\n")
	var names []string
	for _, l := range readCommands(t, Redis8) {
		c8, _ := simulated(Redis8, l.name)
		if c8 == nil {
			continue
		}
		name := inCapitals(l.name)
		if c7, _ := simulated(Redis7, l.name); c7 == nil {
			name += " (8)"
		}
		names = append(names, name)
	}
	for _, name := range simulatedNames(Tair) {
		if c7, _ := simulated(Redis7, name); c7 == nil {
			names = append(names, inCapitals(name)+" (tair)")
		}
	}
	names = append(names, "SET … IFEQ, SET … IFNE (8)")
	slices.Sort(names)
	b.WriteString(strings.Join(names, ", ") + "\n\n## Refused\n\n| why | commands |\n|---|---|\n")
	reasons := map[string][]string{}
	for _, l := range readCommands(t, Redis8) {
		container, _, is := strings.Cut(l.name, "|")
		why := whyRefused(Redis8, l.name)
		if is && whyRefused(Redis8, container) != "" || why == "" {
			continue
		}
		name := inCapitals(l.name)
		if whyRefused(Redis7, l.name) == "" {
			name += " (8)"
		}
		reasons[why] = append(reasons[why], name)
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		slices.Sort(reasons[why])
		b.WriteString("| " + why + " | " + strings.Join(reasons[why], ", ") + " |\n")
	}
	b.WriteString(`
If a command is refused, so are all its subcommands. Some options of simulated commands are refused: IFDEQ and IFDNE of
SET and DELEX; MINID, LIMIT and a MAXLEN of 0 of XADD and XTRIM; REDIRECT of CLIENT TRACKING; every database other than
0; every parameter of CONFIG other than notify-keyspace-events; the class m of that parameter; and, in Redis 8, its
classes o and c.

Since Redis 7.2, scripts may call WAIT, WAITAOF, BLPOP, BRPOP, BLMOVE and BRPOPLPUSH; here, only version 8 allows this.
They do not wait in a script. If a client waits for several lists, and one transaction creates more than one of them,
version 7.0 gives the client an element of the list that was created first, and version 8 an element of the first list
that it named.
`)
	b.WriteString("\n## Not compared with redis-server\n\n| command | why |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(uncompared)) {
		b.WriteString("| " + inCapitals(name) + " | " + uncompared[name] + " |\n")
	}
	testkit.Golden(t, "COMMANDS.md", b.String())
}

// inCapitals formats a command's name as Redis's documentation does.
func inCapitals(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "|", " ")) }
