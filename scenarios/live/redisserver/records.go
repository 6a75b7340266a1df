package redisserver

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// records creates one server's records. It copies the data observed on the server to a keyspace of the simulated node,
// which records the changes.
type records struct {
	data    *store.Data
	replica bool // whether the server is a replica; its master records changes of the keys
	known   bool // whether the data has been read since the process started
	before  []store.Holding
	lost    history.Why     // why some data from before the last stop may be gone
	guess   history.Attempt // the attempt whose request was pending at the last stop
	past    *past
	// operator is the reason recorded for the effects of an operator's command. It is set only while these effects are
	// being recorded.
	operator history.Why
	held     map[store.Title]bool // for a deposed master: the keys and members that existed when it was deposed
	noted    func(t store.Title, why history.Why)
}

// open prepares the records for a run.
func (r *records) open(replica bool, g *group) {
	r.data = store.New(server{r})
	r.replica, r.past = replica, g.past
	r.noted = func(t store.Title, why history.Why) { g.lost[t] = why }
}

// server is the keyspace's [store.Server].
type server struct{ r *records }

func (s server) Replica() bool        { return s.r.replica }
func (s server) Log(store.Effect)     {}
func (s server) LogCommand([]string)  {}
func (s server) Changed(string, bool) {}
func (s server) Flushed()             {}
func (s server) ListMade(string)      {}
func (s server) Watches(string) bool  { return false } // what a request has checked is not recorded
func (s server) Publish(_, _ string)  {}
func (s server) Do(args []string) {
	s.r.data.Pass(args)
	s.r.data.Settle(args[1], store.Change{})
}

// begin prepares the records for a new server process.
func (r *records) begin(o store.Onlooker) {
	r.data.Onlooker = o
	r.known = false
}

// end is called when the server stops. It keeps the data, to be compared with the data after the next start. lost is
// the reason to record if some of it is gone by then.
func (r *records) end(lost history.Why, underWay history.Attempt) {
	r.before = r.standing()
	r.lost, r.guess = lost, underWay
	r.data.Clear()
	r.known = false
}

// due lists the keys whose deadlines have passed.
func (r *records) due(wall int64) []string { return r.data.DueAt(wall) }

// touched returns the keys in the given notices, sorted by first event.
func touched(said []notice) (names []string) {
	seen := map[string]bool{}
	for _, n := range said {
		if n.event != flushed && !seen[n.key] {
			seen[n.key] = true
			names = append(names, n.key)
		}
	}
	return names
}

// story describes those effects of one command on a key that the key's resulting state does not show.
type story struct {
	replaced bool // the key is a string that was set to a new value
	byScore  bool // members were removed by score
	set      bool // fields were set (an increment does not change the owner of a field)
}

// note records the effects of an attempt's request. It finds them in the server's notices about keys (said) and in the
// keys' current state. commands contains the one command that the client sent, or the commands in its transaction. sent
// is when the client sent them. note reports whether there were any effects.
func (r *records) note(wall int64, attempt history.Attempt, sent history.Time, commands [][]string, said []notice,
	keys []store.Key) bool {
	if len(said) == 0 {
		return false
	}
	d := r.data
	d.Begin(wall)
	d.Attempt, d.Sent = attempt, sent
	stories := map[string]*story{}
	from := ""
	for _, n := range said {
		s := stories[n.key]
		if s == nil {
			s = &story{}
			stories[n.key] = s
		}
		switch n.event {
		case flushed:
			d.Flush(cmp.Or(r.operator, history.Flushed))
		case "expired":
			r.remove(n.key, history.Expired, "")
		case "evicted":
			r.remove(n.key, history.Deleted, "")
		case "del":
			switch when, moved := deadlineIn(n.key, commands); {
			case s.byScore:
				r.remove(n.key, history.Expired, "")
			case moved && when <= wall && d.Peek(n.key) != nil:
				d.Overdue(n.key, when)
			default:
				r.remove(n.key, cmp.Or(r.operator, history.Deleted), attempt)
			}
			*s = story{}
		case "set", "restore":
			s.replaced = true
		case "hset":
			s.set = true
		case "zremrangebyscore":
			s.byScore = true
		case "rename_from":
			from = n.key
		case "rename_to":
			r.handOn(n.key, from, stories, keys)
			r.remove(from, history.Deleted, attempt)
			delete(stories, from)
		case "copy_to":
			r.handOn(n.key, copied(n.key, commands), stories, keys)
		}
	}
	for _, k := range keys {
		r.settle(&k, stories[k.Name], commands)
		r.remember(&k)
	}
	return true
}

// deadlineIn returns the absolute deadline that commands set for a key, in milliseconds of Unix time. If several
// commands set one, the last one counts. If that time has passed, a server deletes the key at once. found is false if
// no command sets such a deadline.
func deadlineIn(name string, commands [][]string) (when int64, found bool) {
	for _, args := range commands {
		if len(args) < 3 || args[1] != name {
			continue
		}
		text, unit := args[2], int64(1)
		switch command := strings.ToUpper(args[0]); {
		case command == "PEXPIREAT":
		case command == "EXPIREAT":
			unit = 1000
		case command == "GETEX" && len(args) == 4 && strings.EqualFold(args[2], "PXAT"):
			text = args[3]
		case command == "GETEX" && len(args) == 4 && strings.EqualFold(args[2], "EXAT"):
			text, unit = args[3], 1000
		default:
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			when, found = n*unit, true
		}
	}
	return when, found
}

// handOn records that key to is now a copy of key from, with the same owners. If from has been set to a new value since
// the keys were last read, that value is unknown. In that case, handOn marks to as replaced, just as from is.
func (r *records) handOn(to, from string, stories map[string]*story, keys []store.Key) {
	source, s := r.data.Peek(from), stories[from]
	if s == nil {
		s = &story{}
	}
	*stories[to] = *s
	if source == nil || s.replaced {
		stories[to].replaced = true
		return
	}
	is := slices.IndexFunc(keys, func(k store.Key) bool { return k.Name == to && k.Type == "string" })
	if is >= 0 && source.Text {
		r.data.SetNumber(from, keys[is].Value, source) // the value at the time of the copy
	}
	r.data.Duplicate(to, from, source)
}

// copied returns the source from which commands copied a value to the given key, or "" if no command copied to it.
func copied(to string, commands [][]string) (source string) {
	for _, args := range commands {
		if len(args) > 2 && strings.EqualFold(args[0], "copy") && args[2] == to {
			source = args[1]
		}
	}
	return source
}

// remove records that a key is gone, if it existed.
func (r *records) remove(name string, why history.Why, by history.Attempt) {
	if r.data.Peek(name) != nil {
		r.data.Remove(name, why, by)
	}
}

// settle updates a key's record to the key's current state.
func (r *records) settle(k *store.Key, s *story, commands [][]string) {
	d := r.data
	was := d.Peek(k.Name)
	switch {
	case k.Type == "" && was != nil && d.Now > was.When:
		r.remove(k.Name, history.Expired, "") // the key expired when it was read
		return
	case k.Type == "":
		r.remove(k.Name, history.Deleted, d.Attempt)
		return
	case k.Type == "string" && (was == nil || !was.Text || s.replaced):
		d.SetString(k.Name, k.Value, k.Deadline)
		return
	case k.Type == "string":
		d.SetNumber(k.Name, k.Value, was)
	default:
		r.settleMembers(k, was, s, commands)
	}
	if e := d.Peek(k.Name); e != nil && e.When != k.Deadline {
		d.MoveDeadline(k.Name, e, k.Deadline)
	}
}

// settleMembers does what settle does, for a key of any type except string. Such a key has members, for example the
// fields of a hash. A field named in the command always counts as set. Any other field with a new value counts as set
// only if the server reported that fields were set. A member of a sorted set with a new score always counts as set.
func (r *records) settleMembers(k *store.Key, was *store.Entry, s *story, commands [][]string) {
	d := r.data
	if was != nil && d.DB.Type(k.Name) != k.Type {
		r.remove(k.Name, history.Deleted, d.Attempt)
	}
	had := map[string]string{}
	var early []string
	if s.byScore {
		early = d.NotYetDue(k.Name)
	}
	if d.Peek(k.Name) != nil {
		for _, m := range d.Members(k.Name) {
			had[m.Name] = m.Value
		}
		d.DB.Del(k.Name)
	}
	c := store.Change{Expired: s.byScore, Early: early, Set: namedFields(k.Name, commands)}
	for _, m := range k.Members {
		switch v, there := had[m.Name]; {
		case there && v == m.Value && k.Type == "hash":
			c.Same = append(c.Same, m.Name)
		case there && v != m.Value && (s.set || k.Type == "zset"):
			c.Set = append(c.Set, m.Name)
		}
	}
	if left := survivors(had, k.Members); s.byScore && len(left) > 0 && len(c.Set) > 0 {
		r.mirror(k, left) // the others were put back with another score
		d.Settle(k.Name, store.Change{Expired: true, Early: early})
		d.DB.Del(k.Name)
	}
	r.mirror(k, k.Members)
	d.Settle(k.Name, c)
}

// survivors returns the members that remained when the members with the lowest scores were removed, with the scores
// that they had then (had). Some of them may have been given a new score since then (now). The lowest score that has
// not changed shows where the limit was: a member remained if its score in had is not below it.
func survivors(had map[string]string, now []store.Member) (left []store.Member) {
	lowest := math.Inf(1)
	for _, m := range now {
		if had[m.Name] == m.Value {
			lowest = min(lowest, score(m.Value))
		}
	}
	for _, m := range now {
		if was, there := had[m.Name]; there && score(was) >= lowest {
			m.Value = was
			left = append(left, m)
		}
	}
	return left
}

// score parses the score of a sorted set member. It returns NaN if the text is not a number.
func score(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// mirror writes the key to the keyspace. The key's value consists of the given members or, for a list, of the
// placeholder.
func (r *records) mirror(k *store.Key, members []store.Member) {
	for _, e := range (&store.Key{Name: k.Name, Type: k.Type, Value: k.Value, Members: members,
		Deadline: store.Never}).Remake(nil) {
		r.data.Pass(e.Args)
	}
}

// namedFields returns a key's fields that are named in the request's HSET and HMSET commands.
func namedFields(key string, commands [][]string) (names []string) {
	for _, args := range commands {
		name := strings.ToLower(args[0])
		if len(args) < 4 || args[1] != key || name != "hset" && name != "hmset" {
			continue
		}
		for i := 2; i < len(args); i += 2 {
			names = append(names, args[i])
		}
	}
	return names
}

// survey compares the given keys with r's previous state, and records the differences.
func (r *records) survey(wall int64, keys []store.Key) {
	d := r.data
	before := r.standing()
	r.before, r.known = nil, true
	d.Begin(wall)
	guessed := r.adopt(keys)
	r.guess = ""
	d.Attempt = ""
	store.Pair(before, d.Snapshot().Holdings(), func(was, is *store.Holding) {
		if was != nil && is != nil && *was == *is {
			return
		}
		if was != nil {
			r.lose(was)
		}
		if is != nil {
			r.find(is, guessed)
		}
	})
}

// lose records that a value has changed or disappeared.
func (r *records) lose(h *store.Holding) {
	why := r.lost
	if r.data.Now > h.Deadline {
		why = history.Expired
	} else if !r.replica {
		r.noted(h.Title(), why)
	}
	r.data.Record(h.Gone(why))
}

// find records a value that did not exist before, as far as r knows.
func (r *records) find(h *store.Holding, guessed map[store.Title]bool) {
	set := history.Event{F: history.KeySet, Lock: history.Lock(h.Name), Member: h.Member, Of: h.Owner,
		Until: r.data.Until(h.Deadline)}
	if h.Text {
		set.Value = h.Value
	}
	if guessed[h.Title()] {
		set.By = h.Owner
	}
	r.data.Record(set)
}

// adopt adds keys to the keyspace without recording them. A key's owner is the attempt that previously set the key to
// its current value. If no known request set that value, the owner is the attempt whose request was pending at the last
// stop.
func (r *records) adopt(keys []store.Key) (guessed map[store.Title]bool) {
	guessed = map[store.Title]bool{}
	r.data.Quietly(func() {
		r.data.Clear()
		for i := range keys {
			k := &keys[i]
			owner := func(member, value string) history.Attempt {
				of, known := r.past.owner(k, member, value)
				if !known {
					of = r.guess
					guessed[store.Title{Name: k.Name, Member: member, Of: of}] = of != ""
					r.past.note(store.Holding{Name: k.Name, Member: member, Value: value, Deadline: k.Deadline}, of)
				}
				return of
			}
			k.Owner = owner("", k.Value)
			for j := range k.Members {
				k.Members[j].Owner = owner(k.Members[j].Name, k.Members[j].Value)
			}
			for _, e := range k.Remake(nil) {
				r.data.Apply(&e)
			}
		}
	})
	return guessed
}

// remember stores the owners of a key's current values in r.past.
func (r *records) remember(k *store.Key) {
	if r.data.Peek(k.Name) == nil {
		return
	}
	list := k.Members
	if len(list) == 0 {
		list = []store.Member{{Value: k.Value}}
	}
	for _, m := range list {
		h := store.Holding{Name: k.Name, Member: m.Name, Value: m.Value, Deadline: k.Deadline}
		if of, there := r.data.OwnerOf(&h); there {
			r.past.note(h, of)
		}
	}
}

// past contains the owners of keys' recent values, because keys may have these values again after a crash.
type past struct {
	owners map[store.Holding]history.Attempt // each value twice: with its deadline, and without
	order  []store.Holding                   // oldest first
}

func newPast() *past { return &past{owners: map[store.Holding]history.Attempt{}} }

// longest is the maximum number of values whose owners are stored in past. A server cannot accept that many values in a
// few seconds, and a crash loses at most the last few seconds.
const longest = 1 << 17

func (p *past) note(h store.Holding, of history.Attempt) {
	for _, h := range []store.Holding{h, withoutDeadline(h)} {
		if was, known := p.owners[h]; !known {
			p.order = append(p.order, h)
		} else if of == "" { // a replica does not know the owners of the values that its master sends
			of = was
		}
		p.owners[h] = of
	}
	for len(p.order) > longest {
		delete(p.owners, p.order[0])
		p.order = p.order[1:]
	}
}

func withoutDeadline(h store.Holding) store.Holding {
	h.Deadline, h.Ended = 0, true // Ended marks the result: no recorded holding has both values
	return h
}

// owner returns the attempt that set a key, or a member of the key's value, to its current value. It finds the attempt
// even if the key's deadline was changed later.
func (p *past) owner(k *store.Key, member, value string) (of history.Attempt, known bool) {
	h := store.Holding{Name: k.Name, Member: member, Value: value, Deadline: k.Deadline}
	if of, known = p.owners[h]; !known {
		of, known = p.owners[withoutDeadline(h)]
	}
	return of, known
}
