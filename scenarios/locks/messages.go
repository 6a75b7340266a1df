package locks

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// This file implements clients of a lock on one Redis server that wait for a message from the holder instead of
// polling. Redis does not keep messages for clients that are not subscribed when they are published.

// subscriptions is the number of the connection on which a client subscribes. Requests use a different connection.
const subscriptions = 1

// byMessage reports whether holders publish their releases and waiting clients listen for these messages.
func (w Waking) byMessage() bool { return w == WakeOnMessage || w == WakeOnMessageTTL }

// channel returns the channel on which a holder announces that it has released the lock.
func (l *single) channel() string { return string(l.config.Key) + ":released" }

// rest waits between two attempts to acquire the lock. If another client holds the lock, rest waits for a message, but
// no longer than left. Otherwise, it waits for the given delay. A client that has not subscribed yet subscribes and
// immediately tries again, because the lock may have been released before it subscribed.
func (l *single) rest(env sim.Env, delay, left time.Duration) {
	if !l.config.Wake.byMessage() || !l.taken {
		sleep(env, delay, left)
		return
	}
	conn := sim.Conn{Server: l.current[0], N: subscriptions}
	if l.listens != conn.Server {
		subscribe := sim.Request{Conn: conn, Args: []string{"SUBSCRIBE", l.channel()}, Phase: "subscribe"}
		if ask(env, l.config.Timeout, subscribe).Status != sim.Answered {
			sleep(env, delay, left)
			return
		}
		l.listens = conn.Server
		return
	}
	if l.config.Wake == WakeOnMessageTTL {
		left = min(left, l.config.TTL)
	}
	switch _, status := env.Receive(conn, left); status {
	case sim.Reset:
		env.Close(conn)
		l.listens = ""
	case sim.Answered:
		env.Record(history.Event{Type: history.Info, F: history.Woken, Lock: l.config.Key})
	}
}
