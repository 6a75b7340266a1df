package redis

import (
	"slices"
	"strings"
)

// isModule8 reports whether a name is that of a command of the modules that Redis 8 is delivered with: JSON.SET,
// FT.SEARCH, VADD and the like.
func isModule8(name string) bool {
	module, _, dotted := strings.Cut(name, ".")
	if dotted {
		return slices.Contains([]string{"json", "ft", "ts", "bf", "cf", "cms", "topk", "tdigest"}, module)
	}
	return slices.Contains([]string{"vadd", "vcard", "vdim", "vemb", "vgetattr", "vinfo", "vismember", "vlinks",
		"vrandmember", "vrange", "vrem", "vsetattr", "vsim"}, name)
}

// refusedBecause says why a server of a version that has a command, in lower case, or a subcommand after a bar, does
// not carry it out; empty if it does, or does not have it.
func refusedBecause(v Version, name string) string {
	if why := refused[name]; why != "" {
		return why
	}
	switch {
	case v != Redis8:
		return ""
	case isModule8(name):
		return beyond
	}
	return refused8[name]
}

func notSimulated(name, why string) string {
	return "ERR fencepost: " + strings.ToUpper(strings.ReplaceAll(name, "|", " ")) + " is not simulated: " + why
}

// unknownSub is the error for a subcommand that Redis does not have, or that fencepost does not simulate.
func unknownSub(v Version, command, sub string) string {
	name := command + "|" + strings.ToLower(sub)
	if why := refusedBecause(v, name); why != "" {
		return notSimulated(name, why)
	}
	return "ERR unknown subcommand '" + clip(sub, 128) + "'. Try " + strings.ToUpper(command) + " HELP."
}

// unknown is the error for a command that Redis does not have, or that fencepost does not simulate.
func unknown(v Version, args []string) string {
	if why := refusedBecause(v, strings.ToLower(args[0])); why != "" {
		return notSimulated(strings.ToLower(args[0]), why)
	}
	var b strings.Builder
	b.WriteString("ERR unknown command '" + clip(args[0], 128) + "', with args beginning with: ")
	for i, a := range args[1:] {
		if i == 20 || b.Len() > 256 {
			break
		}
		b.WriteString("'" + clip(a, 128) + "' ")
	}
	return b.String()
}
