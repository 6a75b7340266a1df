package locks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// NameProblem says why a lock of the protocol cannot have the name; empty if it can. Right is the nearest name that it can
// have; empty if there is none.
//
// A lock on ZooKeeper is a znode, whose path has no empty part and none that is "." or ".." (ZooKeeper's
// PathUtils.validatePath). The other services take any key.
func NameProblem(p Protocol, name history.Lock) (problem, right string) {
	if p != ZooKeeper {
		return "", ""
	}
	parts := strings.Split(string(name), "/")
	good := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" || part == "." || part == ".." })
	if len(good) == len(parts) {
		return "", ""
	}
	problem = fmt.Sprintf("no znode of ZooKeeper can be called %q: between slashes there must be a name, and not . or ..", name)
	if right = strings.Join(good, "/"); right == "" {
		problem += ": write a name such as lock"
	}
	return problem, right
}

// PairProblem says why locks of the protocol cannot have both names at once, and what to write; empty if they can. What
// collides here collides on the real service.
func PairProblem(p Protocol, a, b history.Lock) string {
	return cmp.Or(clash(p, a, b), clash(p, b, a))
}

// clash is PairProblem for locks of which the first would take what is the second's for its own.
func clash(p Protocol, a, b history.Lock) string {
	apart := strings.ReplaceAll(string(b), "/", "-")
	switch under := strings.HasPrefix(string(b), string(a)+"/"); {
	case p == ZooKeeper && under:
		return fmt.Sprintf("the children of its znode are the requests for lock %s, and lock %s would be among them: write %s",
			a, b, apart)
	case p == Etcd && under:
		return fmt.Sprintf("all keys that begin with %s/ are requests for lock %s, and those for lock %s would be among them: write %s",
			a, a, b, apart)
	case p == Fenced && string(b) == tokenCounter(a):
		return fmt.Sprintf("the key %s is the token counter of lock %s: write %s", b, a, strings.ReplaceAll(string(b), ":", "-"))
	}
	return ""
}
