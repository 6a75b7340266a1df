package zookeeper

// Code is an error by ZooKeeper's name. It implements error; a nil error, not an empty Code, is success.
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

// Error is the code in words.
func (c Code) Error() string { return "zookeeper: " + string(c) }

// err is c as an error, nil for the empty code.
func (c Code) err() error {
	if c == "" {
		return nil
	}
	return c
}
