package locks

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// Fenced is a lock that uses SET NX PX and INCR of a token counter, in one script.
const Fenced Protocol = "fenced"

func init() {
	Register(&Definition{
		Name: Fenced, Place: 4, Service: history.Redis,
		Text: "SET NX PX and INCR of a token counter, in one script: gives fencing tokens", Backend: OnRedis,
		Expires: true, Tokens: true,
		Settings: onOneRedis(append([]Setting{reentrantKey, releaseKey}, ownSettings(readTokenKey)...)...),
		Without:  withoutOnOneRedis,
		make: func(r requester) protocol {
			l := newSingle(r, sendFenced)
			if ownOf[fencedConfig](r.config).tokenRead == tokenLater {
				l.token = readToken
			}
			return l
		},
		Measures: func(c *Config) []history.Measure {
			if ownOf[fencedConfig](c).tokenRead == tokenInStep {
				return []history.Measure{history.GrantToken}
			}
			return nil
		},
		clash:     func(a, b history.Lock) string { return sameKey(a, b, tokenCounter(a), "token counter") },
		secondKey: tokenCounter,
	})
}

// fencedConfig contains the settings that only this protocol has.
type fencedConfig struct {
	tokenRead tokenRead // default in-step
}

// tokenRead determines when a fenced lock's client gets its token.
type tokenRead string

const (
	tokenInStep tokenRead = "in-step" // from the script that acquires the lock
	// the client reads the token from the counter after it has acquired the lock, so the token may be a later holder's
	// (as in Redisson's fenced lock)
	tokenLater tokenRead = "later"
)

var readTokenKey = format.Choice("read-token", func(c *fencedConfig) *tokenRead { return &c.tokenRead },
	"how a client learns its fencing token. "+
		"`in-step`: from the script that acquires the lock; `later`: from the counter after the acquisition, "+
		"when the counter may already contain a later holder's token (Redisson's fenced lock)",
	format.Options(tokenInStep, tokenLater)...)

// sameKey describes the conflict that arises if lock a uses the given key for the given purpose, and that key is also
// the name of lock b. If lock b has a different name, sameKey returns "".
func sameKey(a, b history.Lock, key, purpose string) string {
	if string(b) != key {
		return ""
	}
	return fmt.Sprintf("the key %s is already the %s of lock %s: use another name, for example %s", b, purpose, a,
		strings.ReplaceAll(string(b), ":", "-"))
}

// tokenCounter returns the key of a fenced lock's token counter.
func tokenCounter(key history.Lock) string { return string(key) + ":token" }

func sendFenced(l *single, env sim.Env, h *Hold, due expiry) (held, taken bool) {
	n, answered := l.ask(env, h, "set", "EVAL", fencedScript, "2", string(l.config.Key), tokenCounter(l.config.Key),
		h.value, due.at).Int()
	h.Token = history.Token(n)
	return n > 0, answered && n == 0
}

// readToken reads the counter and uses its value as the hold's fencing token.
func readToken(l *single, env sim.Env, h *Hold) bool {
	text, _ := l.ask(env, h, "token", "GET", tokenCounter(l.config.Key)).Bulk()
	n, err := strconv.ParseInt(text, 10, 64)
	h.Token = history.Token(n)
	return err == nil
}
