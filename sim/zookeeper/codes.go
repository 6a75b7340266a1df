package zookeeper

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// Code is the name of a ZooKeeper error. It implements error. Success is a nil error, not an empty Code.
type Code string

// Codes that servers return.
const (
	NoNode                  Code = "NONODE"
	NodeExists              Code = "NODEEXISTS"
	NotEmpty                Code = "NOTEMPTY"
	BadVersion              Code = "BADVERSION"
	NoChildrenForEphemerals Code = "NOCHILDRENFOREPHEMERALS"
	BadArguments            Code = "BADARGUMENTS"
	SessionExpired          Code = "SESSIONEXPIRED"
	SessionMoved            Code = "SESSIONMOVED" // the session has since been moved to another connection
	NoAuth                  Code = "NOAUTH"
	InvalidACL              Code = "INVALIDACL"
	Unimplemented           Code = "UNIMPLEMENTED"
	MarshallingError        Code = "MARSHALLINGERROR" // the request is cut short
)

// Error returns the code as an error message.
func (c Code) Error() string { return "zookeeper: " + string(c) }

// err returns c as an error, or nil for the empty code.
func (c Code) err() error {
	if c == "" {
		return nil
	}
	return c
}

// numbers maps codes to their numbers in the protocol, and codes maps these numbers to codes.
var (
	numbers = map[Code]int32{"": 0, NoNode: jute.NoNode, NodeExists: jute.NodeExists, NotEmpty: jute.NotEmpty,
		BadVersion: jute.BadVersion, NoChildrenForEphemerals: jute.NoChildrenForEphemerals,
		BadArguments: jute.BadArguments, SessionExpired: jute.SessionExpired, SessionMoved: jute.SessionMoved,
		NoAuth: jute.NoAuth, InvalidACL: jute.InvalidACL, Unimplemented: jute.Unimplemented,
		MarshallingError: jute.MarshallingError}
	codes = inverse(numbers)
)

func inverse[K, V comparable](m map[K]V) map[V]K {
	inverse := map[V]K{}
	for k, v := range m {
		inverse[v] = k
	}
	return inverse
}

// codeOf returns the code with the given number.
func codeOf(number int32) Code {
	if code, known := codes[number]; known {
		return code
	}
	return Code(fmt.Sprint("CODE", number))
}
