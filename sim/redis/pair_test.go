package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
)

// startRealPair starts a real master and its replica on ports on this machine, and waits until they are in sync. path
// is the path of redis-server. extra contains additional arguments for both servers. startRealPair returns a connection
// to each server, and the master's address.
func startRealPair(t *testing.T, path string, extra ...string) (pair [2]*realRedis, master string) {
	t.Helper()
	for i := range pair {
		host, port := testkit.FreeAddress(t)
		args := []string{"--port", port, "--bind", host, "--save", "", "--dir", t.TempDir(),
			"--repl-diskless-sync-delay", "0"}
		args = append(args, extra...)
		if i == 0 {
			master = host + " " + port
		} else {
			args = append(args, "--replicaof", master)
		}
		startProgram(t, path, [...]string{"Ready to accept", "Finished with success"}[i], nil, args...)
		pair[i] = connect(t, "tcp", host+":"+port)
	}
	return pair, master
}

// pairScript is a list of commands for a master (1) and its replica (2), executed one after another.
var pairScript = strings.Split(strings.TrimSpace(`
1 SET lock a
1 WAIT 1 0
1 WAIT 0 0
2 GET lock
2 SET lock b
2 DEL lock
2 EXPIRE lock 10
2 FLUSHALL
2 WAIT 0 0
2 WAIT x y
1 WAIT x 0
1 WAIT 0 x
1 WAIT 0 -1
1 WAIT 99999999999999999999 0
1 WAIT 2 20
1 MULTI
1 SET lock c
1 INCR lock
1 EXEC
1 WAIT 1 0
2 GET lock
2 MULTI
2 GET lock
2 SET lock d
2 EXEC
1 RPUSH list x y
1 PEXPIRE list 100000
1 WAIT 1 0
2 LRANGE list 0 -1
2 EXISTS lock list nothing
2 DBSIZE
2 KEYS l*t
2 REPLICAOF HOST PORT
2 REPLICAOF HOST x
1 REPLICAOF NO ONE
2 REPLICAOF NO ONE
2 SET lock own
2 GET lock
2 WAIT 0 0
2 WAIT 1 20
1 SLAVEOF NO ONE
1 QUIT
`), "\n")

// TestReplicationAnswersAsRedis sends the same commands to a simulated pair and to a real pair.
func TestReplicationAnswersAsRedis(t *testing.T) {
	real, master := startRealPair(t, tool(t, "redis-server"))
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}})
	names := [2]sim.ProcessID{"redis-1", "redis-1-replica-1"}
	w.AddServer(names[0], New(Config{Replicas: names[1:]}))
	w.AddServer(names[1], New(Config{Replicates: names[0]}))
	done := false
	w.AddClient("client-1", 0, func(env sim.Env) {
		for _, line := range pairScript {
			args := strings.Fields(line)
			i, theirs := int(args[0][0]-'1'),
				strings.Fields(strings.ReplaceAll(line, "HOST PORT", master))
			ours := strings.Fields(strings.NewReplacer("HOST", "redis-1", "PORT", "6379").Replace(line))
			got := env.Call(time.Minute, nil, sim.Request{Conn: sim.Conn{Server: names[i]}, Args: ours[1:]})[0]
			if want := real[i].do(theirs[1:]...); string(got.Raw()) != want {
				t.Errorf("%s\n node %q\nRedis %q", line, got.Raw(), want)
			}
		}
		done = true
	})
	w.Run(sim.Time(time.Hour), func() bool { return done })
	if w.Finish(); w.Err() != nil || !done {
		t.Fatal("the run did not end: ", w.Err())
	}
}
