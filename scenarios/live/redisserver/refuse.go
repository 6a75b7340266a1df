package redisserver

import (
	"fmt"
	"slices"
	"strings"
)

// blocking lists the commands that may block. XREAD and XREADGROUP also block if the client asks them to.
var blocking = []string{"blpop", "brpop", "brpoplpush", "blmove", "blmpop", "bzpopmin", "bzpopmax", "bzmpop", "wait",
	"waitaof"}

// mayBlock reports whether a command may have to wait for another client before it is answered.
func mayBlock(name string, args []string) bool {
	if name == "xread" || name == "xreadgroup" {
		return slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "block") })
	}
	return slices.Contains(blocking, name)
}

// theRuns lists commands that would change the run's setup, or that have effects the run cannot track.
var theRuns = []string{"shutdown", "bgrewriteaof", "save", "bgsave", "debug", "module", "failover", "sync", "psync",
	"replconf", "monitor", "swapdb", "move", "migrate", "cluster"}

// theRunsSubcommands lists, for each command, the subcommands that are refused for the same reasons as theRuns.
var theRunsSubcommands = map[string][]string{
	"config": {"set", "rewrite", "resetstat"},
	"acl":    {"setuser", "deluser", "load", "save"},
	"client": {"pause", "unpause", "reply", "kill"},
}

// refusal returns an error reply if a command must not reach the server, and "" if the command is allowed.
func (s *Server) refusal(name string, args []string) string {
	sub := ""
	db := func(a string) bool { return strings.EqualFold(a, "db") }
	if len(args) > 1 {
		sub = strings.ToLower(args[1])
	}
	switch {
	case slices.Contains(theRuns, name):
		return fmt.Sprintf("ERR fencepost: %s is not allowed for clients of a run", strings.ToUpper(name))
	case slices.Contains(theRunsSubcommands[name], sub):
		return fmt.Sprintf("ERR fencepost: %s is not allowed for clients of a run", strings.ToUpper(name+" "+sub))
	case name == "select" && len(args) == 2 && args[1] != "0",
		name == "copy" && len(args) > 3 && slices.ContainsFunc(args[3:], db):
		return "ERR fencepost: clients may use only database 0, because only that one is recorded"
	}
	return ""
}
