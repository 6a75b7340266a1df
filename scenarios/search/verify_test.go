package search

import (
	"context"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
)

const soundRedlock = `name: redlock
servers: {redis: 3, persistence: {append-fsync: always}}
network: {delay: 1ms}
lock: {protocol: redlock, ttl: 2s, retry: {delay: 1s}}
work: {check-validity: on}
mix: {without: [jump of servers, crash losing everything of servers]}
promise: [lease-exclusion, ownership, fault-tolerance, deadlock-freedom]
`

func verify(t *testing.T, text string, o VerifyOptions) *Verification {
	t.Helper()
	s, err := scenarios.Parse("verified.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Seed = 1
	if o.Delays == 0 {
		o.Delays = 1
	}
	v, err := Verify(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestX(t *testing.T) {
	for _, x := range []string{soundRedlock,
`name: no-elapsed-check
servers: {redis: 3, persistence: {append-fsync: always}}
network: {delay: 1ms}
lock: {protocol: redlock, ttl: 2s, retry: {delay: 1s}, elapsed-check: off}
promise: [lease-exclusion]
`,
`name: del
servers: {redis: 1, persistence: {append-fsync: always}}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}, release: del}
promise: [ownership]
`,
`name: get-then-del
servers: {redis: 1, persistence: {append-fsync: always}}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}, release: get-then-del}
promise: [ownership]
`,
`name: forgetful
servers: {redis: 3, persistence: none}
network: {delay: 1ms}
lock: {protocol: redlock, ttl: 2s, retry: {delay: 1s}}
work: {check-validity: on}
promise: [lease-exclusion]
`,
`name: everysec
servers: {redis: 1}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}}
work: {check-validity: on}
promise: [lease-exclusion]
`,
`name: small-quorum
servers: {redis: 3, persistence: {append-fsync: always}}
network: {delay: 1ms}
lock: {protocol: redlock, ttl: 2s, retry: {delay: 1s}, quorum: 1}
promise: [lease-exclusion]
`,
} {
	v := verify(t, x, VerifyOptions{Faults: 2})
	t.Log(v.Scenario.Name, v.Stop, v.Options.Kinds, v.LeftOut)
	for _, l := range v.Lengths { t.Log(l) }
	if v.Found != nil { t.Log(v.Found.Plan, v.Found.Law, v.Found.Cause) }
	_ = checker.Holds
	}
}
