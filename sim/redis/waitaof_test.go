package redis

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// diskPlays returns the command sequences in testdata/waitaof.txt for each persistence policy. Each line consists of a
// connection number, a command, and redis-server 8.2.3's reply. Connections 1 and 3 lead to a master, and connection 2
// leads to its replica.
func diskPlays(t *testing.T) map[store.Policy][][2]string {
	t.Helper()
	text, err := os.ReadFile("testdata/waitaof.txt")
	if err != nil {
		t.Fatal(err)
	}
	plays := map[store.Policy][][2]string{}
	for _, play := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		name, lines, _ := strings.Cut(play, "\n")
		policy := store.None
		for policy.String() != name {
			policy++
		}
		for line := range strings.Lines(lines) {
			command, reply, _ := strings.Cut(strings.TrimSpace(line), " -> ")
			plays[policy] = append(plays[policy], [2]string{command, reply})
		}
	}
	return plays
}

// TestWaitingForDisksAnswersAsRedis checks that a simulated master and its replica give the replies in
// testdata/waitaof.txt, which were recorded from a real pair.
func TestWaitingForDisksAnswersAsRedis(t *testing.T) {
	for policy, lines := range diskPlays(t) {
		cfg := Config{Version: Redis8, Persistence: policy, FsyncTime: store.DefaultFsyncTime}
		w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}})
		names := [2]sim.ProcessID{"redis-1", "redis-1-replica-1"}
		cfg.Replicas = names[1:]
		w.AddServer(names[0], New(cfg))
		cfg.Replicas, cfg.Replicates = nil, names[0]
		w.AddServer(names[1], New(cfg))
		done := false
		w.AddClient("client-1", 0, func(env sim.Env) {
			for _, line := range lines {
				i := int(line[0][0] - '1')
				got := env.Call(time.Minute, nil, sim.Request{Conn: sim.Conn{Server: names[i%2], N: i},
					Args: strings.Fields(line[0])[1:]})[0]
				check(t, policy.String()+": "+line[0], readable(string(got.Raw())), line[1])
			}
			done = true
		})
		w.Run(sim.Time(time.Hour), func() bool { return done })
		if w.Finish(); w.Err() != nil || !done {
			t.Fatal("the run did not end: ", w.Err())
		}
	}
}

// TestRecordedWaitsAreThoseOfRedis checks that the replies in testdata/waitaof.txt are those of the redis-server named
// by FENCEPOST_REDIS8.
func TestRecordedWaitsAreThoseOfRedis(t *testing.T) {
	path, plays := laterPath(t), diskPlays(t)
	var b strings.Builder
	for policy := range store.No + 1 {
		args := []string{"--appendonly", "no"}
		if policy != store.None {
			args = []string{"--appendonly", "yes", "--appendfsync", policy.String()}
		}
		pair, _ := startRealPair(t, path, args...)
		address := pair[0].conn.RemoteAddr()
		conns := append(pair[:], connect(t, address.Network(), address.String()))
		b.WriteString("\n" + policy.String() + "\n")
		for _, c := range conns {
			c.patience = 20 * time.Second // the replica first rewrites its file, and acknowledges once a second
		}
		for _, line := range plays[policy] {
			reply := conns[line[0][0]-'1'].do(strings.Fields(line[0])[1:]...)
			b.WriteString(line[0] + " -> " + readable(reply) + "\n")
		}
	}
	testkit.Golden(t, "testdata/waitaof.txt", b.String()[1:])
}
