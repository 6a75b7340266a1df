package newbackend

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

func init() {
	locks.Register(&locks.Definition{Name: lockd, Place: 20, Backend: lockd, Service: lockd,
		Text: "a majority of lockd servers, with a session of the client", Several: true, Expires: true, Renews: true,
		Settings: append(slices.Clone(locks.Define(locks.FromLibrary).Settings),
			*locks.Define(locks.SetNXPX).Setting("retry.delay")),
		Measures: func(*locks.Config) []history.Measure {
			return []history.Measure{history.OwnValue, history.OwnerCheck, history.ElapsedCheck, history.StopWhenLost}
		},
		Foreign: func(_ sim.ProcessID, c *locks.Config, of *locks.Library) locks.ForeignLock {
			return &recipe{config: c, library: of}
		}})
}

// recipe is a lock on a majority of lockd servers. An attempt's number is used as the lock's session. Three times per
// TTL, a task sends a request that keeps the session alive.
type recipe struct {
	config  *locks.Config
	library *locks.Library
	over    *sim.Signal // raised to end the task
}

// ask sends a request to all servers. It returns which servers agreed, and how many answered.
func (r *recipe) ask(env sim.Env, a history.Attempt, verb string) (yes []sim.ProcessID, answered int) {
	args := []string{verb, string(r.config.Key), string(a)}
	if verb != "GIVE" {
		args = append(args, strconv.FormatInt(r.config.TTL.Milliseconds(), 10))
	}
	var all []sim.Request
	for _, s := range r.config.Servers {
		all = append(all, sim.Request{Conn: sim.Conn{Server: s}, Args: args, Attempt: a, Phase: verb})
	}
	replies := env.Call(r.config.Timeout, nil, all...)
	for i := range replies {
		if replies[i].Status == sim.Answered {
			answered++
		} else {
			env.Close(all[i].Conn)
		}
		if strings.HasPrefix(string(replies[i].Raw()), "OK") {
			yes = append(yes, r.config.Servers[i])
		}
	}
	return yes, answered
}

func (r *recipe) most(n int) bool { return n > len(r.config.Servers)/2 }

// Acquire tries until a majority grants the lock.
func (r *recipe) Acquire(env sim.Env) (*locks.Hold, error) {
	for start := env.Monotonic(); r.config.Patience == 0 || env.Monotonic()-start < r.config.Patience; {
		h := &locks.Hold{Attempt: r.library.Attempt(env)}
		env.Point(sim.AcquireStart)
		h.Grant.Since = env.Mark()
		until := env.Monotonic() + r.config.TTL
		if h.Grant.Counted, _ = r.ask(env, h.Attempt, "TAKE"); r.most(len(h.Grant.Counted)) && env.Monotonic() < until {
			env.Point(sim.QuorumReached)
			h.Grant.Granted, h.Grant.Until = env.Mark(), sim.Deadline{Clock: sim.Monotonic, At: until}
			lost, over := new(sim.Signal), new(sim.Signal)
			h.Ends, r.over = []*sim.Signal{lost}, over
			env.Go("keeper", func(env sim.Env) { r.keep(env, h, lost, over) })
			env.Point(sim.ValidityChecked)
			return h, nil
		}
		r.ask(env, h.Attempt, "GIVE")
		env.Sleep(locks.Draw(env, r.config.Retry))
	}
	return nil, locks.ErrPatience
}

// keep keeps the session alive. When the session has ended, it raises lost.
func (r *recipe) keep(env sim.Env, h *locks.Hold, lost, over *sim.Signal) {
	for left := r.config.TTL; left > 0; left = h.Grant.Until.At - env.Monotonic() {
		if env.Sleep(min(r.config.TTL/3, left), over) {
			return
		}
		until := env.Monotonic() + r.config.TTL
		yes, answered := r.ask(env, h.Attempt, "KEEP")
		switch {
		case over.Raised():
			return
		case r.most(answered - len(yes)): // too few servers still know the session
			lost.Raise()
			return
		case r.most(len(yes)) && env.Monotonic() < h.Grant.Until.At:
			h.Grant.Until.At, h.Grant.Granted = until, env.Mark()
			if h.Prolonged != nil {
				h.Prolonged(env)
			}
		}
	}
	lost.Raise()
}

// Extend does nothing, because the session is kept alive in the background.
func (r *recipe) Extend(sim.Env, *locks.Hold) error { return nil }

func (r *recipe) Release(env sim.Env, h *locks.Hold) locks.Answer {
	r.Close(env)
	switch yes, answered := r.ask(env, h.Attempt, "GIVE"); {
	case r.most(len(yes)):
		return locks.Confirmed
	case r.most(answered):
		return locks.Denied
	}
	return locks.Unanswered
}

// Close ends the task.
func (r *recipe) Close(sim.Env) {
	if r.over != nil {
		r.over.Raise()
	}
}
