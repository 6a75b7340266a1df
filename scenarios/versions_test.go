package scenarios

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// ofOwnClients lists the settings that affect only clients that run their own code. They do not affect the modeled
// locks.
var ofOwnClients = []string{"servers.version", "servers.notify-keyspace-events"}

// asked returns a server's reply to a client's command.
func asked(t *testing.T, servers, command string, who sim.ProcessID) string {
	t.Helper()
	s, err := Parse("x.yaml", []byte("name: x\nservers: "+servers+"\nlock: {protocol: set-nx-px}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := sim.New(1, sim.Options{})
	newCluster(&s.Servers).Add(w, nemesis.Plan{}, func(_ sim.ProcessID, s sim.Server) sim.Server { return s })
	var reply string
	w.AddClient("client-1", 0, func(env sim.Env) {
		reply = string(env.Call(time.Second, nil, sim.Request{Conn: sim.Conn{Server: who},
			Args: strings.Fields(command)})[0].Raw())
	})
	w.Run(sim.Time(time.Minute), func() bool { return reply != "" })
	w.Finish()
	return reply
}

// TestServersAreSetForClientsOfOnesOwn checks the effect of the settings in ofOwnClients. This effect does not show up
// in runs of modeled locks.
func TestServersAreSetForClientsOfOnesOwn(t *testing.T) {
	for _, c := range []struct{ servers, command, want string }{
		{"{redis: 1}", "INFO server", "redis_version:7.0.15"},
		{"{redis: 1, version: 7.0}", "INFO server", "redis_version:7.0.15"},
		{"{redis: 1, version: 8}", "INFO server", "redis_version:8.4.0"},
		{"{redis: 1, version: 8, replicas: 1}", "INFO server", "redis_version:8.4.0"},
		{"{redis: 1}", "DELEX a IFEQ b", "ERR unknown command 'DELEX'"},
		{"{redis: 1, version: 8}", "DELEX a IFEQ b", ":0"},
		{"{redis: 1, version: 8}", "CAD a b", "ERR unknown command 'CAD'"},
		{"{redis: 1, version: tair}", "CAD a b", ":-1"},
		{"{redis: 1}", "CONFIG GET notify-keyspace-events", "$0"},
		{"{redis: 1, notify-keyspace-events: Elx}", "CONFIG GET notify-keyspace-events", "lxE"},
	} {
		if got := asked(t, c.servers, c.command, "redis-1"); !strings.Contains(got, c.want) {
			t.Errorf("servers: %s: %s replies %q, not %s", c.servers, c.command, got, c.want)
		}
	}
	for _, who := range []sim.ProcessID{"redis-1-replica-1", Observer} {
		if got := asked(t, "{redis: 1, version: 8, replicas: 1}", "HELLO", who); !strings.Contains(got, "8.4.0") {
			t.Errorf("%s of version 8 greets with %q", who, got)
		}
	}
}

// versioned lists scenarios. An invalid scenario is followed by the error's position and the reason.
const versioned = `
servers: {redis: 1}; lock: {protocol: set-nx-px, release: delex} => 3:29: DELEX requires Redis 8.4
servers: {redis: 1, version: 7.0}; lock: {protocol: setnx, release: delex} => 3:25: DELEX requires Redis 8.4
servers: {redis: 1, version: tair}; lock: {protocol: fenced, release: delex} => 3:26: DELEX requires Redis 8.4
servers: {redis: 1, version: 8}; lock: {protocol: set-nx-px, release: delex} =>
servers: {redis: 1}; lock: {protocol: set-nx-px, release: cad} => 3:29: CAD is a command of Tair
servers: {redis: 1, version: 8}; lock: {protocol: set-nx-px, release: cad} => 3:29: CAD is a command of Tair
servers: {redis: 1, version: tair}; lock: {protocol: set-nx-px, release: cad} =>
servers: {redis: 1}; lock: {protocol: set-nx-px, extension: {mode: cas}} => 3:41: CAS is a command of Tair
servers: {redis: 1, version: tair}; lock: {protocol: set-nx-px, extension: {mode: cas}} =>
servers: {redis: 1}; lock: {protocol: setnx}; overrides: {client-2: {lock: {release: delex}}} => 4:31: DELEX requires Redis 8.4
servers: {redis: 1, version: 9}; lock: {protocol: set-nx-px} => 2:30: expected one of 7.0, 8, tair, found
servers: {etcd: 3, version: 8}; lock: {protocol: etcd} => 2:20: version is a setting of Redis: remove it
servers: {redis: 1, notify-keyspace-events: Q}; lock: {protocol: setnx} => 2:45: expected letters that stand for classes of events in redis.conf, such as KEA, found "Q"
servers: {redis: 1, notify-keyspace-events: KEA}; lock: {protocol: setnx} =>
`

// TestSettingsThatAVersionLacksAreRefused checks that a release or extension is rejected if it uses a command that the
// servers do not have. The error gives the setting's position and says which version has the command.
func TestSettingsThatAVersionLacksAreRefused(t *testing.T) {
	for line := range strings.Lines(strings.TrimPrefix(versioned, "\n")) {
		text, want, _ := strings.Cut(strings.TrimSpace(line), " =>")
		_, err := Parse("x.yaml", []byte("name: x\n"+strings.ReplaceAll(text, "; ", "\n")+"\n"))
		var bad *format.Error
		switch {
		case want == "" && err != nil, want != "" && !errors.As(err, &bad):
			t.Errorf("%s\n%v, not %s", text, err, want)
		case want != "" && !strings.HasPrefix(bad.Error(), "x.yaml:"+want[1:]):
			t.Errorf("%s\n%v, not %s", text, bad, want)
		}
	}
}
