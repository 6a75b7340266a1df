package homemade

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Scripts contain names instead of numbers. @lock is the lock's key, and @queue is another of its keys. $owner and $ttl
// are arguments. See numbered, which assigns the numbers.

var names = regexp.MustCompile(`[@$][a-z]+`)

// numbered replaces the names in a script with KEYS[n] and ARGV[n]. It returns the names in the order of these numbers.
// The names are numbered in the order in which they first occur or, if reversed is set, in reverse order.
func numbered(script string, reversed bool) (text string, keys, args []string) {
	for _, name := range names.FindAllString(script, -1) {
		to := &args
		if name[0] == '@' {
			to = &keys
		}
		if !slices.Contains(*to, name[1:]) {
			*to = append(*to, name[1:])
		}
	}
	if reversed {
		slices.Reverse(keys)
		slices.Reverse(args)
	}
	text = names.ReplaceAllStringFunc(script, func(name string) string {
		if name[0] == '@' {
			return "KEYS[" + strconv.Itoa(slices.Index(keys, name[1:])+1) + "]"
		}
		return "ARGV[" + strconv.Itoa(slices.Index(args, name[1:])+1) + "]"
	})
	return strings.TrimSpace(text), keys, args
}

// hashOf returns the hash that identifies a script in EVALSHA.
func hashOf(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}
