package lua

import "testing"

func TestSpellingsOfTheDocumentsAreOneScript(t *testing.T) {
	const release = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`
	for _, text := range []string{
		"\n        if redis.call(\"GET\", KEYS[1]) == ARGV[1] then\n" +
			"            return redis.call(\"DEL\", KEYS[1])\n" +
			"        else\n            return 0\n        end\n        ", // as in a Python library
		"-- safe_unlock.lua\n-- KEYS[1]: the lock\n\nif redis.call(\"GET\", KEYS[1]) == ARGV[1] then\n" +
			"    return redis.call(\"DEL\", KEYS[1])\nelse\n    return 0\nend",
		"if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n    return redis.call(\"del\",KEYS[1])\n" +
			"else\n    return 0\nend", // as in Tair
		"if redis.call('get', KEYS[1]) == ARGV[1]\r\nthen\r\n\treturn redis.call('Del', KEYS[1]);\r\n" +
			"else\r\n\treturn 0;\r\nend",
	} {
		check(t, text, Tokens(text), Tokens(release))
	}
}
