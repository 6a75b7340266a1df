package redis

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

type zaddOptions struct{ nx, xx, gt, lt, ch, incr bool }

// trouble returns an error if two options are mutually exclusive, or if the number of arguments after the options is
// wrong. Otherwise, it returns "".
func (o *zaddOptions) trouble(words int) string {
	switch {
	case words%2 != 0 || words == 0:
		return resp.ErrSyntax
	case o.nx && o.xx:
		return "ERR XX and NX options at the same time are not compatible"
	case (o.gt || o.lt) && o.nx || o.gt && o.lt:
		return "ERR GT, LT, and/or NX options at the same time are not compatible"
	case o.incr && words > 2:
		return "ERR INCR option supports a single increment-element pair"
	}
	return ""
}

// zadd implements ZADD and, if incr is set, ZINCRBY.
func zadd(incr bool) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		o := zaddOptions{incr: incr}
		pairs := readFlags(args[2:], map[string]*bool{"NX": &o.nx, "XX": &o.xx, "GT": &o.gt, "LT": &o.lt, "CH": &o.ch,
			"INCR": &o.incr})
		trouble := o.trouble(len(pairs))
		scores := make([]float64, len(pairs)/2)
		for i := 0; i < len(scores) && trouble == ""; i++ {
			var ok bool
			if scores[i], ok = resp.ParseDouble(pairs[2*i]); !ok {
				trouble = resp.ErrNotFloat
			}
		}
		if trouble != "" {
			d.ReplyError(trouble)
			return
		}
		if d.Find(args[1]) != nil && d.Type(args[1]) != "zset" {
			d.ReplyError(resp.ErrWrongType)
			return
		}
		addScores(d, args, o, scores, pairs)
	}
}

// addScores sets members' scores. pairs contains the arguments from the first score to the end.
func addScores(d *store.Data, args []string, o zaddOptions, scores []float64, pairs []string) {
	name := args[1]
	added, updated, processed := int64(0), int64(0), false
	var done store.Change
	if o.nx || o.xx || o.gt || o.lt {
		d.Depends(history.CheckedPresence)
	}
	members, _ := d.DB.SortedSet(name) // no error, since the key has this type or does not exist
	if members == nil {
		members = map[string]float64{}
	}
	var score float64
	for i := range scores {
		member := pairs[2*i+1]
		old, exists := members[member]
		score = scores[i]
		switch {
		case exists && o.nx, !exists && o.xx:
			continue
		case exists && o.incr:
			score += old
		}
		if score != score {
			d.ReplyError("ERR resulting score is not a number (NaN)")
			return
		}
		if exists && (o.gt && score <= old || o.lt && score >= old) {
			continue
		}
		processed = true
		switch {
		case !exists:
			added++
		case score != old:
			updated++
		default:
			continue
		}
		done.Set = append(done.Set, member)
		members[member] = score + 0 // convert -0 to 0, as Redis does
		_, _ = d.DB.ZAdd(name, score+0, member)
	}
	if added+updated > 0 {
		d.Settle(name, done)
		d.LogCommand(args)
		d.Notify(store.ZSet, either(o.incr, "zincr", "zadd"), name)
	}
	switch {
	case o.incr && processed:
		d.ReplyDouble(lua.FormatNumber(score, 17))
	case o.incr:
		d.ReplyNull()
	case o.ch:
		d.ReplyInt(added + updated)
	default:
		d.ReplyInt(added)
	}
}

// scoreOptions checks the options that follow the bounds in ZRANGEBYSCORE. It is called before the bounds are parsed,
// because Redis checks the options first. It returns an error, or "" if there is none.
func scoreOptions(words []string) string {
	for i := 0; i < len(words); i++ {
		switch rest := words[i+1:]; {
		case strings.EqualFold(words[i], "WITHSCORES"):
		case strings.EqualFold(words[i], "LIMIT") && len(rest) >= 2:
			for _, number := range rest[:2] {
				if _, ok := resp.ParseInt(number); !ok {
					return resp.ErrNotInt
				}
			}
			i += 2
		default:
			return resp.ErrSyntax
		}
	}
	return ""
}

// byScore handles a command whose second and third arguments are score bounds. It parses the bounds like Redis, and
// rewrites them for miniredis, which would treat an exclusive infinite bound as an inclusive one.
func byScore(d *store.Data, args []string) bool {
	if trouble := scoreOptions(args[4:]); trouble != "" {
		d.ReplyError(trouble)
		return true
	}
	args = slices.Clone(args)
	nothing := false
	for i := 2; i <= 3; i++ {
		text, open := strings.CutPrefix(args[i], "(")
		f, _, ok := resp.Strtod(text)
		if !ok {
			d.ReplyError("ERR min or max is not a float")
			return true
		}
		if open && math.IsInf(f, 0) {
			upper := (i == 3) != strings.EqualFold(args[0], "zrevrangebyscore")
			nothing = nothing || upper == (f < 0)
			f, open = math.Copysign(math.MaxFloat64, f), false
		}
		args[i] = strconv.FormatFloat(f, 'g', -1, 64)
		if open {
			args[i] = "(" + args[i]
		}
	}
	if nothing {
		args[2], args[3] = "NaN", "NaN"
	}
	passOn(d, dataCommands[strings.ToLower(args[0])], args)
	return true
}

// rescore formats the scores in a reply with 17 digits, like Redis. miniredis uses only as many digits as are needed to
// distinguish scores. In an array, every step-th element is a score.
func rescore(reply []byte, step int) []byte {
	if reply[0] == '$' {
		return appendScore(nil, reply)
	}
	if reply[0] != '*' {
		return reply
	}
	head := bytes.IndexByte(reply, '\n') + 1
	out := append([]byte{}, reply[:head]...)
	for i, rest := 1, reply[head:]; len(rest) > 0; i++ {
		size := resp.BulkSize(rest)
		if size == 0 {
			size = bytes.IndexByte(rest, '\n') + 1 // null
		}
		if i%step == 0 {
			out = appendScore(out, rest[:size])
		} else {
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	return out
}

// appendScore appends a score to out. bulk is the score as a bulk string, or a null.
func appendScore(out, bulk []byte) []byte {
	_, text, _ := bytes.Cut(bytes.TrimSuffix(bulk, []byte("\r\n")), []byte("\r\n"))
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return append(out, bulk...)
	}
	return sim.AppendBulk(out, lua.FormatNumber(f, 17))
}

// scoreStep says which elements of a reply are scores: 1 means every element, 2 means every second one, and 0 means
// none.
func scoreStep(args []string) int {
	switch strings.ToLower(args[0]) {
	case "zscore", "zmscore":
		return 1
	case "zpopmin", "zpopmax":
		return 2
	}
	for _, a := range args[min(4, len(args)):] {
		if strings.EqualFold(a, "WITHSCORES") {
			return 2
		}
	}
	return 0
}

// lposOptions are the LPOS options.
type lposOptions struct {
	rank, count, most int64
	all               bool // whether COUNT was given
}

func parseLposOptions(args []string) (o lposOptions, trouble string) {
	o.rank = 1
	for i := 0; i < len(args); i += 2 {
		name := strings.ToUpper(args[i])
		if i+1 == len(args) || name != "RANK" && name != "COUNT" && name != "MAXLEN" {
			return o, resp.ErrSyntax
		}
		v, ok := resp.ParseInt(args[i+1])
		switch {
		case name == "RANK" && !ok:
			return o, resp.ErrNotInt
		case name == "RANK" && v == 0:
			return o, "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... " +
				"or use negative to start from the end of the list"
		case name == "RANK":
			o.rank = v
		case !ok || v < 0:
			return o, "ERR " + name + " can't be negative"
		case name == "COUNT":
			o.count, o.all = v, true
		default:
			o.most = v
		}
	}
	return o, ""
}

// lpos implements LPOS. As in Redis, negating the smallest possible rank causes an integer overflow.
func lpos(d *store.Data, args []string) {
	o, trouble := parseLposOptions(args[3:])
	if trouble != "" {
		d.ReplyError(trouble)
		return
	}
	if d.Find(args[1]) != nil && d.Type(args[1]) != "list" {
		d.ReplyError(resp.ErrWrongType)
		return
	}
	list, _ := d.DB.List(args[1]) // no error, since the key has this type or does not exist
	rank, size, matches := o.rank, int64(len(list)), int64(0)
	if o.rank < 0 {
		rank = -rank
	}
	var found []int64
	for i := int64(0); i < size && (o.most == 0 || i < o.most); i++ {
		at := i
		if o.rank < 0 {
			at = size - 1 - i
		}
		if list[at] != args[2] {
			continue
		}
		if matches++; matches < rank {
			continue
		}
		found = append(found, at)
		if !o.all || o.count > 0 && matches-rank+1 >= o.count {
			break
		}
	}
	switch {
	case o.all:
		d.ReplyLen(len(found))
		for _, at := range found {
			d.ReplyInt(at)
		}
	case len(found) > 0:
		d.ReplyInt(found[0])
	default:
		d.ReplyNull()
	}
}
