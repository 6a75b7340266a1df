package store

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// Op is the kind of an effect. The few that locks live on are held without an argument list, which costs no memory.
type Op uint8

const (
	OpSet          Op = iota + 1 // SET key value [PXAT when]
	OpDel                        // DEL key
	OpExpire                     // PEXPIREAT key when
	OpPersist                    // PERSIST key
	OpFlush                      // FLUSHALL
	OpCommand                    // args, a command that does the same whenever it is executed on the same data
	OpPublish                    // PUBLISH key value; for replicas only
	_                            // there are no patterns to publish to
	OpShardPublish               // SPUBLISH key value; for replicas only
)

// Effect is one change of the data as the append-only file holds it: absolute in time, certain in outcome, and with
// the attempt on whose behalf it was made. Replaying the effects of a node in order gives its data.
type Effect struct {
	Op      Op
	Key     string
	Value   string // OpSet
	When    int64  // OpSet, OpExpire: deadline in ms on the wall clock; never without
	Args    []string
	Attempt history.Attempt
	At      int64 // when it was made, ns on the node's monotonic clock
}
