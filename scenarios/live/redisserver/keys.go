package redisserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// lookScript returns the type, the deadline in ms (-1: none) and the value of each key. If the server does not support
// PEXPIRETIME, the script computes the deadline from the time left and the current time, which does not advance within
// a script.
const lookScript = `local all = {}
for i, key in ipairs(KEYS) do
  local kind, when, value = redis.call('TYPE', key).ok, -1, false
  if kind ~= 'none' then
    if ARGV[1] == 'absolute' then
      when = redis.call('PEXPIRETIME', key)
    else
      local left, now = redis.call('PTTL', key), redis.call('TIME')
      if left >= 0 then when = now[1] * 1000 + math.floor(now[2] / 1000) + left end
    end
  end
  if kind == 'string' then value = redis.call('GET', key)
  elseif kind == 'hash' then value = redis.call('HGETALL', key)
  elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'set' then value = redis.call('SMEMBERS', key)
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  end
  all[i] = {kind, string.format('%.0f', when), value}
end
return all`

// look reads keys from the server. In the result, a key that does not exist has an empty type, and the owners are not
// set.
func look(w *wire, absolute bool, names []string) ([]store.Key, error) {
	if len(names) == 0 {
		return nil, nil
	}
	args := append([]string{"EVAL", lookScript, fmt.Sprint(len(names))}, names...)
	if absolute {
		args = append(args, "absolute")
	} else {
		args = append(args, "relative")
	}
	v, err := w.ask(args...)
	if err == nil && (v.IsError() || len(v.List) != len(names)) {
		err = fmt.Errorf("reading keys: %s", v.Text)
	}
	if err != nil {
		return nil, err
	}
	keys := make([]store.Key, len(names))
	for i, k := range v.List {
		keys[i] = keyOf(names[i], k.List[0].Text, k.List[1].Number(), k.List[2])
	}
	return keys, nil
}

// keyOf converts a key returned by the script. A value of an unsupported type is recorded as a list with one element.
func keyOf(name, kind string, when int64, v resp.Value) store.Key {
	k := store.Key{Name: name, Type: kind, Deadline: when}
	if when < 0 {
		k.Deadline = store.Never
	}
	texts := v.Texts()
	switch kind {
	case "none":
		k.Type = ""
	case "string":
		k.Value = v.Text
	case "set":
		for _, m := range texts {
			k.Members = append(k.Members, store.Member{Name: m})
		}
	case "zset", "hash":
		for i := 0; i+1 < len(texts); i += 2 {
			k.Members = append(k.Members, store.Member{Name: texts[i], Value: texts[i+1]})
		}
	case "list":
		k.Value, k.Members = string(v.Append(nil)), store.Elements(texts)
	default:
		k.Type, k.Value, k.Members = "list", anElement, store.Elements([]string{"-"})
	}
	slices.SortFunc(k.Members, func(a, b store.Member) int { return strings.Compare(a.Name, b.Name) })
	return k
}

// anElement is the RESP encoding of a list with one element. It is a placeholder for a value if its content is not
// recorded.
const anElement = "*1\r\n$1\r\n-\r\n"

// allKeys reads all keys from the server.
func allKeys(w *wire, absolute bool) ([]store.Key, error) {
	var names []string
	for cursor := "0"; ; {
		v, err := w.ask("SCAN", cursor, "COUNT", "1000")
		if err == nil && (v.IsError() || len(v.List) != 2) {
			err = fmt.Errorf("listing the keys: %s", v.Text)
		}
		if err != nil {
			return nil, err
		}
		names = append(names, v.List[1].Texts()...)
		if cursor = v.List[0].Text; cursor == "0" {
			break
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	keys, err := look(w, absolute, names)
	return slices.DeleteFunc(keys, func(k store.Key) bool { return k.Type == "" }), err
}
