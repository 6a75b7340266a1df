package scenarios

import (
	"crypto/sha1"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// script contains what a Lua script's text shows about a lock.
type script struct {
	sets               bool
	value              int // index, from 1, of the argument that the script stores as the owner value; 0: unknown
	relative, absolute bool
	prolongs, deletes  bool
	compares, cuts     bool // the script compares the owner; it compares only a part of the owner
}

var (
	luaCalls    = regexp.MustCompile(`(?i)\bp?call\s*\(\s*['"](\w+)['"]`)
	luaOwner    = regexp.MustCompile(`(?i)\bp?call\s*\(\s*['"]set(?:nx)?['"]\s*,\s*KEYS\[\d+\]\s*,\s*ARGV\[(\d+)\]`)
	luaExpiry   = regexp.MustCompile(`(?i)['"](px|ex|pxat|exat)['"]`)
	luaCompares = regexp.MustCompile(`==|~=`)
	luaCuts     = regexp.MustCompile(`(?i)\bstring\.(sub|find|match|gmatch|gsub)\b|:(sub|find|match|gmatch|gsub)\s*\(`)
)

// script analyzes a script's text, and stores the result under the script's hash.
func (r *requestReader) script(text string) *script {
	hash := fmt.Sprintf("%x", sha1.Sum([]byte(text)))
	if s := r.scripts[hash]; s != nil {
		return s
	}
	s, reads := &script{}, false
	for _, call := range luaCalls.FindAllStringSubmatch(text, -1) {
		switch strings.ToLower(call[1]) {
		case "set", "setnx":
			s.sets = true
		case "psetex", "setex":
			s.sets, s.relative = true, true
		case "expire", "pexpire":
			s.prolongs, s.relative = true, true
		case "expireat", "pexpireat":
			s.prolongs, s.absolute = true, true
		case "del", "unlink":
			s.deletes = true
		case "hexists", "zscore", "sismember": // these commands return whether a given owner holds the key
			s.compares = true
		case "get", "hget", "lindex", "lrange", "getrange":
			reads = true
		}
	}
	for _, found := range luaExpiry.FindAllStringSubmatch(text, -1) {
		at := strings.HasSuffix(strings.ToLower(found[1]), "at")
		s.relative, s.absolute = s.relative || !at, s.absolute || at
	}
	if found := luaOwner.FindStringSubmatch(text); found != nil {
		s.value, _ = strconv.Atoi(found[1])
	}
	s.compares = s.compares || reads && luaCompares.MatchString(text)
	s.cuts = reads && luaCuts.MatchString(text)
	r.scripts[hash] = s
	return s
}

// seeScript records what a script call shows about a lock. It ignores a call whose first key does not belong to a lock.
func (r *requestReader) seeScript(q request, command string, args []string) {
	if len(args) < 3 {
		return
	}
	keys, err := strconv.Atoi(args[1])
	if err != nil || keys < 1 || len(args) < 2+keys || !r.isLock(args[2]) {
		return
	}
	s, rest := r.scripts[strings.ToLower(args[0])], args[2+keys:]
	if strings.HasPrefix(command, "EVAL") && !strings.HasPrefix(command, "EVALSHA") {
		s = r.script(args[0])
	}
	if s == nil { // no client has sent the text of the script in this run
		for _, m := range []history.Measure{history.OwnerCheck, history.OwnValue, history.Expiry,
			history.RelativeExpiry, history.WaitForReplicas} {
			r.note(m, notShown)
		}
		return
	}
	if s.relative || s.absolute {
		r.note(history.RelativeExpiry, shownIf(!s.absolute))
	}
	switch {
	case s.sets:
		if s.value < 1 || s.value > len(rest) {
			r.ask(q, nil)
		} else {
			r.ask(q, rest[s.value-1:])
		}
		if s.relative || s.absolute {
			r.note(history.Expiry, shownApplied)
		} else {
			r.note(history.Expiry, notShown)
		}
	case s.prolongs:
		r.note(history.Renewal, shownApplied)
	}
	if !s.deletes || s.sets {
		return
	}
	switch {
	case s.cuts:
		r.note(history.OwnerCheck, notShown)
		r.lapse(history.PartOfOwner)
	default:
		r.note(history.OwnerCheck, shownIf(s.compares))
	}
}
