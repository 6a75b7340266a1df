package history

import "slices"

var typeNames = [...]string{Invoke: "invoke", OK: "ok", Fail: "fail", Info: "info"}

// String returns the type's name in Jepsen's terms; "" for an invalid one.
func (t Type) String() string {
	if int(t) >= len(typeNames) {
		return ""
	}
	return typeNames[t]
}

// functions lists what processes other than the nemesis may do.
var functions = []F{Acquire, Extend, Release, Lost, Read, Write, CAS, Txn, Woken, Crashed, Apply, KeySet, KeyProlonged,
	KeyGone, KeyCopied, CopyGone}

// isKeyDeadline reports whether events of f carry Event.Until.
func isKeyDeadline(f F) bool { return f == KeySet || f == KeyProlonged }

// IsKey reports whether events of f are a server's records of a key.
func (f F) IsKey() bool { return isKeyDeadline(f) || f == KeyGone || f.IsCopy() }

// IsCopy reports whether events of f show which records the members of a service that acts as one have copied. They
// decide nothing: what the service did is in its other records of keys.
func (f F) IsCopy() bool { return f == KeyCopied || f == CopyGone }

func parseType(s string) (Type, bool) {
	i := slices.Index(typeNames[1:], s)
	return Type(i + 1), i >= 0
}
