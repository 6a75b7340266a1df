package scenarios

import (
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// Code describes how to run a scenario whose lock is a released Go library ([locks.FromLibrary]) or whose clients are
// real programs (Programs). This process performs one run at a time; other processes perform them through Elsewhere.
type Code struct {
	Host Host          // performs the runs in this process, in which the library's code runs
	Lock locks.Foreign // creates a client's lock in a run of the Host
	// Elsewhere, if set, performs the runs in another process, which contains the library. Several goroutines may call
	// it at the same time.
	Elsewhere func(s *Scenario, p nemesis.Plan, w Wanted) (Result, error)
	// Programs is set if the clients are real programs. It lists the points in their code at which faults can strike.
	// In this case, Elsewhere runs these programs and ignores the scenario's protocol.
	Programs []sim.Point
	// Given lists the settings in the "lock" and "work" mappings whose values are passed to the programs, such as
	// "lock.ttl". Other settings do not affect the programs.
	Given []string
	// Origin names the library's test or the programs, in results that are stored.
	Origin Origin
}

// Wanted says what a caller wants to know about a run in addition to the history.
type Wanted struct {
	Sent bool // whether to fill in Result.Sent
	// Watch, if set, is called like the function passed to [Runner.Watch]. If another process performs the run, Watch
	// is called only if this process is tracing that one.
	Watch func(sim.Moment)
}

// CodeError reports that the lock's own code, or a client that is a program, failed during a run. Such a run cannot be
// judged.
type CodeError struct{ Text string }

// Error describes the failure.
func (e *CodeError) Error() string { return e.Text }

// ParseWith is like [Parse], but also accepts a scenario whose lock comes from a library. code says how to perform the
// scenario's runs.
func ParseWith(path string, text []byte, code *Code) (*Scenario, error) {
	r, body, err := format.Read(path, text)
	if err != nil {
		return nil, err
	}
	r.Elsewhere = func(key string) []string { return mappings()[key] }
	f := newFile(r)
	f.scenario.code = code
	mapping(f.Reader, body, "", f.fields())
	f.settle()
	if err := r.Err(); err != nil {
		return nil, err
	}
	f.scenario.text = text
	return f.scenario, nil
}

// Parse parses text, which is a modified version of s's text. Runs of the result are performed in the same way as runs
// of s.
func (s *Scenario) Parse(path string, text []byte) (*Scenario, error) {
	other, err := ParseWith(path, text, s.code)
	if err != nil || !s.OfPrograms() {
		return other, err
	}
	return other.With(s.code), nil
}

// With returns a copy of s whose runs are performed as described by code. A random fault waits for a point in the
// clients' code only if the clients can reach that point.
func (s *Scenario) With(code *Code) *Scenario {
	other := *s
	other.code = code
	if code.Programs != nil {
		other.Mix.Points = slices.DeleteFunc(slices.Clone(s.Mix.Points),
			func(p sim.Point) bool { return !slices.Contains(code.Programs, p) })
	}
	return &other
}

// OfPrograms reports whether the clients of s are real programs running on the host. The simulator does not know the
// code of their locks.
func (s *Scenario) OfPrograms() bool { return s.code != nil && s.code.Programs != nil }

// Failing says in a few words what failed if a run of s returned a *[CodeError].
func (s *Scenario) Failing() string {
	if s.OfPrograms() {
		return "a client failed"
	}
	return "the lock's own code failed"
}

// Takes reports whether a setting in the "lock" or "work" mapping affects the clients of s. Programs are affected only
// by the values that are passed to them.
func (s *Scenario) Takes(key string) bool {
	return !s.OfPrograms() || slices.Contains(s.code.Given, key)
}

// define returns a protocol's definition, or nil if there is none or the scenario may not use it.
func (f *file) define(p locks.Protocol) *locks.Definition {
	if p == locks.FromLibrary && f.scenario.code == nil {
		return nil
	}
	return locks.Define(p)
}

// protocols lists the protocols that the scenario may use.
func (f *file) protocols() (names []string) {
	for _, d := range locks.Definitions() {
		names = append(names, string(d.Name))
	}
	if f.scenario.code != nil {
		names = append(names, string(locks.FromLibrary))
	}
	return names
}
