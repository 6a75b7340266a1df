package locks

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/setting"
	"github.com/fencepost-sim/fencepost/sim"
)

// fenced is SET NX PX and INCR of a token counter, in one script.
var fenced = Definition{
	Name: Fenced, Text: "SET NX PX and INCR of a token counter, in one script: gives fencing tokens", Backend: OnRedis,
	Expires: true, Tokens: true,
	Settings: onOneRedis(reentrantKey, releaseKey, readTokenKey),
	Without:  withoutOnOneRedis,
	make:     onOne(sendFenced),
}

var readTokenKey = setting.Choice("read-token", func(c *Config) *TokenRead { return &c.TokenRead },
	"the fencing token comes from the script that takes the lock, or is read from the counter once the client has it: "+
		"perhaps "+
		"a later holder's (Redisson's fenced lock)", setting.Options(TokenInStep, TokenLater)...)

// tokenCounter is the key of a fenced lock's counter.
func tokenCounter(key history.Lock) string { return string(key) + ":token" }

func sendFenced(l *single, env sim.Env, h *Hold, due expiry) (held, taken bool) {
	n, answered := l.ask(env, h, "set", "EVAL", fencedScript, "2", string(l.config.Key), tokenCounter(l.config.Key),
		h.value, due.at).Int()
	h.Token = history.Token(n)
	return n > 0, answered && n == 0
}

// readToken takes what the counter says now for the hold's fencing token.
func (l *single) readToken(env sim.Env, h *Hold) bool {
	text, _ := l.ask(env, h, "token", "GET", tokenCounter(l.config.Key)).Bulk()
	n, err := strconv.ParseInt(text, 10, 64)
	h.Token = history.Token(n)
	return err == nil
}
