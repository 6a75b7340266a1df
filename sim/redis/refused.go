package redis

import "strings"

// Why commands that Redis has are not simulated.
const (
	random  = "its reply is random"
	waiting = "of the commands that wait, those about lists are"
	aServer = "it is about a real server"
	beyond  = "locks do not use it"
	others  = "nothing is kept about other connections: break them by faults"
	help    = "it explains a command to people"
)

// refused are the commands of Redis that the node refuses, and why: of Redis 7.0, and of Redis 8, and subcommands of
// commands that are simulated. What else a server does not know it does not have.
var refused = map[string]string{
	"spop": random, "srandmember": random, "randomkey": random, "hrandfield": random, "zrandmember": random,

	"blmpop": waiting, "bzpopmin": waiting, "bzpopmax": waiting, "bzmpop": waiting,

	"monitor": aServer, "debug": aServer, "command": aServer, "cluster": aServer, "memory": aServer, "object": aServer,
	"latency": aServer, "slowlog": aServer, "acl": aServer, "module": aServer, "save": aServer, "bgsave": aServer,
	"bgrewriteaof": aServer, "lastsave": aServer, "shutdown": aServer, "failover": aServer, "sync": aServer,
	"psync": aServer, "replconf": aServer, "dump": aServer, "restore": aServer, "restore-asking": aServer,
	"migrate": aServer, "readonly": aServer, "readwrite": aServer, "asking": aServer, "lolwut": aServer,
	"pfdebug": aServer, "pfselftest": aServer, "config|resetstat": aServer, "config|rewrite": aServer,
	"script|debug": aServer, "script|kill": "a script that runs too long is ended",

	"client|info": others, "client|list": others, "client|kill": others, "client|pause": others,
	"client|unpause": others, "client|reply": others,
	"client|help": help, "config|help": help, "pubsub|help": help, "script|help": help,

	"xadd": beyond, "xread": beyond, "xreadgroup": beyond, "xrange": beyond, "xrevrange": beyond, "xlen": beyond,
	"xdel": beyond, "xtrim": beyond, "xgroup": beyond, "xack": beyond, "xclaim": beyond, "xautoclaim": beyond,
	"xpending": beyond, "xinfo": beyond, "xsetid": beyond,
	"geoadd": beyond, "geopos": beyond, "geodist": beyond, "geohash": beyond, "geosearch": beyond,
	"geosearchstore": beyond, "georadius": beyond, "georadiusbymember": beyond, "georadius_ro": beyond,
	"georadiusbymember_ro": beyond, "pfadd": beyond, "pfcount": beyond, "pfmerge": beyond,
	"setbit": beyond, "getbit": beyond, "bitcount": beyond, "bitop": beyond, "bitpos": beyond, "bitfield": beyond,
	"bitfield_ro": beyond, "sort": beyond, "sort_ro": beyond, "lcs": beyond, "substr": beyond,
	"hscan": beyond, "sscan": beyond, "zscan": beyond,
	"hincrbyfloat": beyond, "lmpop": beyond, "zmpop": beyond, "sintercard": beyond, "zintercard": beyond,
	"zunion": beyond, "zinter": beyond, "zdiff": beyond, "zunionstore": beyond, "zinterstore": beyond,
	"zdiffstore": beyond, "zrangestore": beyond, "zrangebylex": beyond, "zrevrangebylex": beyond,
	"zremrangebylex": beyond, "zlexcount": beyond,
	"move": beyond, "swapdb": beyond, "fcall": beyond, "fcall_ro": beyond, "function": beyond,
}

// refused8 are those that came after 7.0, up to 8.4, but for those of its modules
// (https://redis.io/commands/redis-8-4-commands).
var refused8 = map[string]string{
	"waitaof": aServer,
	"hexpire": beyond, "hpexpire": beyond, "hexpireat": beyond, "hpexpireat": beyond, "hexpiretime": beyond,
	"hpexpiretime": beyond, "httl": beyond, "hpttl": beyond, "hpersist": beyond,
	"hgetdel": beyond, "hsetex": beyond, "hgetex": beyond,
	"xdelex": beyond, "xackdel": beyond, "digest": "locks do not use digests", "msetex": beyond,
}

// isModule8 reports whether a name is that of a command of the modules that Redis 8 is delivered with: JSON.SET,
// FT.SEARCH, VADD and the like.
func isModule8(name string) bool {
	for _, prefix := range [...]string{"json.", "ft.", "ts.", "bf.", "cf.", "cms.", "topk.", "tdigest."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "vadd", "vcard", "vdim", "vemb", "vgetattr", "vinfo", "vismember", "vlinks", "vrandmember", "vrange", "vrem",
		"vsetattr", "vsim":
		return true
	}
	return false
}

// refusedBecause says why a server of a version that has a command, in lower case, or a subcommand after a bar, does not
// carry it out; empty if it does, or does not have it.
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
