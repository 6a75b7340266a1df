package sim

import "github.com/fencepost-sim/fencepost/checker/history"

// ProcessID names a process of a run: client-1, redis-3, redis-1-replica-1, resource, probe.
type ProcessID = history.Process
