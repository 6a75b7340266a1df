package zookeeper

// Code is an error as ZooKeeper names it. It implements error; a nil error, not an empty Code, is success.
type Code string

// Codes that servers answer.
const (
	NoNode                  Code = "NONODE"
	NodeExists              Code = "NODEEXISTS"
	NotEmpty                Code = "NOTEMPTY"
	BadVersion              Code = "BADVERSION"
	NoChildrenForEphemerals Code = "NOCHILDRENFOREPHEMERALS"
	BadArguments            Code = "BADARGUMENTS"
	SessionExpired          Code = "SESSIONEXPIRED"
	SessionMoved            Code = "SESSIONMOVED" // the session has since been taken to another connection
)

// Codes that only the client library gives.
const (
	// ConnectionLoss: the connection broke, or there was none. A request under way may or may not have been executed.
	ConnectionLoss Code = "CONNECTIONLOSS"
	// OperationTimeout: no answer within the time for one request; it may or may not have been executed.
	OperationTimeout Code = "OPERATIONTIMEOUT"
)

// Error is the code in words.
func (c Code) Error() string { return "zookeeper: " + string(c) }

// err is c as an error, nil for the empty code.
func (c Code) err() error {
	if c == "" {
		return nil
	}
	return c
}
