package redis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Functions are scripts that have names and belong to libraries (FUNCTION LOAD, FCALL). Unlike scripts, libraries are
// data: they are written to the append-only file and sent to replicas. FLUSHALL does not remove them.

// library returns the index of the library with the given name, or -1 if there is none.
func (n *Node) library(name string) int {
	return slices.IndexFunc(n.libraries, func(l *lua.Library) bool { return l.Name == name })
}

// function returns the function with the given name, ignoring case, or nil if there is none.
func (n *Node) function(name string) *lua.Function {
	for _, l := range n.libraries {
		for _, f := range l.Functions {
			if strings.EqualFold(f.Name, name) {
				return f
			}
		}
	}
	return nil
}

// mayWrite reports whether a request may change data. A function call may change data, unless the function was
// registered with the no-writes flag.
func (n *Node) mayWrite(c *nodeCommand, args []string) bool {
	switch {
	case c.Flags&write != 0:
		return true
	case c.Flags&calls != 0:
		f := n.function(args[1])
		return f != nil && !f.Has("no-writes")
	}
	return len(args) > 1 && slices.Contains(c.writers, strings.ToLower(args[1]))
}

// fcall implements FCALL and FCALL_RO.
func fcall(readOnly bool) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		f := n.function(args[1])
		if f == nil {
			n.data.ReplyError("ERR Function not found")
			return
		}
		keys, argv, trouble := scriptArgs(args)
		switch {
		case trouble == resp.ErrNotInt:
			trouble = "ERR Bad number of keys provided"
		case trouble != "":
		case n.member != nil && f.Has("no-cluster"):
			trouble = "ERR Can not run script on cluster, 'no-cluster' flag is set."
		case readOnly && !f.Has("no-writes"):
			trouble = "ERR Can not execute a script with write flag using *_ro command."
		}
		if trouble != "" {
			n.data.ReplyError(trouble)
			return
		}
		looks := n.data.Looks()
		defer n.data.Forget(looks)
		n.readOnly = f.Has("no-writes")
		n.data.Command(history.CheckedNothing)
		n.inLua(keys, func(resp3 bool) []byte { return n.engine().Call(f, keys, argv, resp3) })
	}
}

// functions implements FUNCTION.
func functions(n *Node, args []string) {
	trouble := ""
	switch strings.ToLower(args[1]) {
	case "load":
		trouble = n.loadLibrary(args)
	case "delete":
		if at := n.library(args[2]); at < 0 {
			trouble = "Library not found"
		} else {
			n.libraries = slices.Delete(slices.Clone(n.libraries), at, at+1)
			n.data.LogCommand(args)
			n.data.ReplyOK()
		}
	case "flush":
		switch {
		case len(args) > 3:
			trouble = "unknown subcommand or wrong number of arguments for '" + clip(args[1], 128) +
				"'. Try FUNCTION HELP."
		case len(args) == 3 && !isOneOf(args[2], "SYNC", "ASYNC"):
			trouble = "FUNCTION FLUSH only supports SYNC|ASYNC option"
		default:
			n.libraries = nil
			n.data.LogCommand(args)
			n.data.ReplyOK()
		}
	default:
		trouble = n.listLibraries(args)
	}
	if trouble != "" {
		n.data.ReplyError("ERR " + trouble)
	}
}

// loadLibrary implements FUNCTION LOAD. It returns the error message, or "" if there is no error.
func (n *Node) loadLibrary(args []string) (trouble string) {
	replace := false
	for _, word := range args[2 : len(args)-1] {
		if replace = strings.EqualFold(word, "replace"); !replace {
			return "Unknown option given: " + word
		}
	}
	code := args[len(args)-1]
	if len(code) > maxText {
		return "fencepost: the library is longer than a megabyte"
	}
	name, body, trouble := lua.ParseLibrary(code)
	if trouble != "" {
		return trouble
	}
	rest := slices.Clone(n.libraries)
	if at := n.library(name); at >= 0 {
		if !replace {
			return "Library '" + name + "' already exists"
		}
		rest = slices.Delete(rest, at, at+1)
	}
	list, trouble := n.engine().Load(body)
	if trouble != "" {
		return trouble
	}
	was := n.libraries
	n.libraries = rest
	for _, f := range list {
		if n.function(f.Name) != nil {
			n.libraries = was
			return "Function " + f.Name + " already exists"
		}
	}
	n.libraries = append(rest, &lua.Library{Name: name, Code: code, Functions: list})
	slices.SortFunc(n.libraries, func(a, b *lua.Library) int { return cmp.Compare(a.Name, b.Name) })
	n.data.LogCommand(args)
	n.data.ReplyBulk(name)
	return ""
}

// listLibraries implements FUNCTION LIST.
func (n *Node) listLibraries(args []string) (trouble string) {
	pattern, chosen, withCode := "", false, false
	for i := 2; i < len(args); i++ {
		switch {
		case !withCode && strings.EqualFold(args[i], "withcode"):
			withCode = true
		case !chosen && strings.EqualFold(args[i], "libraryname"):
			if i++; i == len(args) {
				return "library name argument was not given"
			}
			pattern, chosen = args[i], true
		default:
			return "Unknown argument " + args[i]
		}
	}
	list := slices.DeleteFunc(slices.Clone(n.libraries), func(l *lua.Library) bool {
		return chosen && !resp.Match(strings.ToLower(pattern), strings.ToLower(l.Name))
	})
	n.data.ReplyLen(len(list))
	for _, l := range list {
		l.Describe(&n.data.Writer, withCode)
	}
	return ""
}

// librariesImage returns effects that load this node's libraries.
func (n *Node) librariesImage() (list []store.Effect) {
	for _, l := range n.libraries {
		list = append(list, store.Effect{Op: store.OpCommand, Args: []string{"function", "load", l.Code}})
	}
	return list
}
