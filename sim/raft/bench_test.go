package raft

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

func BenchmarkIdleSecond(b *testing.B) {
	l := newLab(b, 3, Config{})
	l.run(time.Second)
	b.ReportAllocs()
	for b.Loop() {
		l.Run(l.Now()+sim.Time(time.Second), nil)
	}
}

func BenchmarkStart(b *testing.B) {
	l := newLab(b, 3, Config{})
	b.ReportAllocs()
	for b.Loop() {
		l.rerun(7, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}}, Config{})
		l.Run(l.Now()+sim.Time(10*ms), nil)
	}
}

func BenchmarkWrites(b *testing.B) {
	l := newLab(b, 3, Config{})
	n := 0
	l.AddClient("c", 0, func(env sim.Env) {
		for {
			r := env.Call(time.Second, nil, sim.Request{Conn: sim.Conn{Server: "m-1"}, Args: []string{"write", "abc"}})
			if r[0].Status == sim.Answered {
				n++
			}
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		want := n + 1
		l.Run(l.Now()+sim.Time(time.Second), func() bool { return n >= want })
	}
	if l.Err() != nil {
		b.Fatal(l.Err())
	}
}
