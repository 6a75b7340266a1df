package sim

import (
	"testing"
	"time"
)

// TestARequestToAHostThatIsOffIsSentAgain checks when TCP sends a request again: after 1, 3, 7 … s if the connection is
// not open yet, and otherwise after 0.2, 0.6, 1.4 … s.
func TestARequestToAHostThatIsOffIsSentAgain(t *testing.T) {
	off := func(l *lab, at, until time.Duration) {
		l.At(Time(at), func() { l.Stop("s-1", PowerLoss) })
		l.At(Time(until), func() { l.Restart("s-1") })
	}
	ask := func(l *lab, env Env, command string, timeout time.Duration) {
		l.say("%s %d", command, env.Call(timeout, nil, to("s-1", command))[0].Status)
	}
	for name, test := range map[string]struct {
		faults func(l *lab)
		client func(l *lab, env Env)
		log    []string
		served []string
	}{
		"a connection is opened after the restart": {
			func(l *lab) { off(l, 0, 1500*ms) },
			func(l *lab, env Env) { ask(l, env, "A", 10*time.Second) },
			[]string{"3.002s A 1"}, []string{"1.5s start", "3.001s A"}},
		"one that stays closed ends in an error": {
			func(l *lab) { off(l, 0, 200*time.Second) },
			func(l *lab, env Env) { ask(l, env, "A", 150*time.Second) },
			[]string{"2m7.001s A 2"}, []string{"3m20s start"}},
		"a connection that the server has forgotten is reset": {
			func(l *lab) { off(l, 10*ms, 500*ms) },
			func(l *lab, env Env) {
				ask(l, env, "A", 10*time.Second)
				env.Sleep(18 * ms)
				ask(l, env, "B", 10*time.Second)
				env.Close(Conn{Server: "s-1"})
				ask(l, env, "C", 10*time.Second)
			},
			[]string{"2ms A 1", "622ms B 2", "626ms C 1"}, []string{"1ms A", "10ms stop 2", "500ms start", "625ms C"}},
		"a client that has given up gets nothing": {
			func(l *lab) { off(l, 0, 500*ms) },
			func(l *lab, env Env) {
				ask(l, env, "A", 100*ms)
				ask(l, env, "B", 2*time.Second)
			},
			[]string{"100ms A 0", "1.102s B 1"}, []string{"500ms start", "1.101s B"}},
		"a client that has crashed sends nothing again": {
			func(l *lab) {
				off(l, 0, 500*ms)
				l.At(Time(100*ms), func() { l.Crash("c") })
			},
			func(l *lab, env Env) { ask(l, env, "A", 10*time.Second) },
			nil, []string{"500ms start"}},
		"a closed connection neither": {
			func(l *lab) { off(l, 0, 500*ms) },
			func(l *lab, env Env) {
				env.Go("closer", func(env Env) {
					env.Sleep(100 * ms)
					env.Close(Conn{Server: "s-1"})
				})
				ask(l, env, "A", 10*time.Second)
			},
			[]string{"10s A 0"}, []string{"500ms start"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			test.faults(l)
			l.client("c", func(env Env) { test.client(l, env) })
			l.run()
			l.want(l.log, test.log...)
			got := l.servers[0].got[1:] // skips the server's first start
			if len(got) > 0 && got[0] == "0s stop 2" {
				got = got[1:]
			}
			l.want(got, test.served...)
		})
	}
}
