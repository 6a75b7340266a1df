package redis

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// op is the kind of an effect. The few that locks live on are held without an argument list, which costs no memory.
type op uint8

const (
	opSet          op = iota + 1 // SET key value [PXAT when]
	opDel                        // DEL key
	opExpire                     // PEXPIREAT key when
	opPersist                    // PERSIST key
	opFlush                      // FLUSHALL
	opCommand                    // args, a command that does the same whenever it is executed on the same data
	opPublish                    // PUBLISH key value; for replicas only
	_                            // there are no patterns to publish to
	opShardPublish               // SPUBLISH key value; for replicas only
)

// effect is one change of the data as the append-only file holds it: absolute in time, certain in outcome, and with
// the attempt on whose behalf it was made. Replaying the effects of a node in order gives its data.
type effect struct {
	op      op
	key     string
	value   string // opSet
	when    int64  // opSet, opExpire: deadline in ms on the wall clock; never without
	args    []string
	attempt history.Attempt
	at      int64 // when it was made, ns on the node's monotonic clock
}

// command is the effect as Redis would write it.
func (e *effect) command() []string {
	switch e.op {
	case opSet:
		if e.when == never {
			return []string{"SET", e.key, e.value}
		}
		return []string{"SET", e.key, e.value, "PXAT", strconv.FormatInt(e.when, 10)}
	case opDel:
		return []string{"DEL", e.key}
	case opExpire:
		return []string{"PEXPIREAT", e.key, strconv.FormatInt(e.when, 10)}
	case opPersist:
		return []string{"PERSIST", e.key}
	case opFlush:
		return []string{"FLUSHALL"}
	case opPublish:
		return []string{"PUBLISH", e.key, e.value}
	case opShardPublish:
		return []string{"SPUBLISH", e.key, e.value}
	}
	return e.args
}
