package scenarios

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
)

// A keepalive is answered while its client is paused past its lease. Read at last, the answer prolongs nothing: a client that
// took it for an extension would state a lease that is over, beside the one of whoever holds the lock by then.
func TestAnAnswerReadTooLateIsNoExtension(t *testing.T) {
	const scenario = `name: late-keepalive
servers: {etcd: 3}
clients: 3
lock: {protocol: etcd, ttl: 2s, timeout: 2s}
work: {cycles: 2, hold: 3s, think: 0s..500ms, check-validity: on}
faults:
  - pause client-1 for 5s at 10.707s
`
	for seed := uint64(1); seed <= 16; seed++ { // in four of them an answer is under way then
		if err := CheckLaw(scenario, seed, checker.LeaseExclusion); err != nil {
			t.Error(err)
		}
	}
}
