package checker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// fromLog makes a history from lines that look like a log. Each line is one event, or one event for each process in a
// list:
//
//	header servers=redis-1,redis-2,redis-3 quorum=2 ttl=10s
//	0s client-1 acquire invoke
//	1ms redis-1,redis-2 key-set of=client-1/1 until=10.001s
//	4ms client-1 acquire ok until=9.9s
//	5ms fault client-1: pause client-1 for 15s after acquired
//	15.005s fault-ends client-1: pause client-1 for 15s after acquired
//	20s nemesis start-partition
//
// The last line has the form of a report by Jepsen's nemesis. The lock is "orders" unless lock= is given. The attempt
// is client-1's latest ("client-1/1") unless attempt= is given. An acquire ok or extend ok with until= has a grant. By
// default, this grant was requested when acquire (or extend) was called, decided at the time given in the line, and
// counted by all servers; since=, granted= and counted= change that.
func fromLog(t testing.TB, text string) *history.History {
	t.Helper()
	p := parser{t: t, h: &history.History{}, attempts: map[string]int{}, called: map[string]history.Time{}}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			p.line(line)
		}
	}
	for i, e := range p.h.Events {
		p.h.Header.End = max(p.h.Header.End, e.Time)
		if i > 0 && e.Time < p.h.Events[i-1].Time {
			t.Fatalf("%v stands after %v", e.Time, p.h.Events[i-1].Time)
		}
	}
	return p.h
}

type parser struct {
	t        testing.TB
	h        *history.History
	attempts map[string]int
	called   map[string]history.Time
}

func (p *parser) line(line string) {
	words := strings.Fields(line)
	if words[0] == "header" {
		for _, w := range words[1:] {
			p.header(w)
		}
		return
	}
	at := p.time(words[0])
	if words[1] == "nemesis" {
		p.add(history.Event{Time: at, Process: history.Nemesis, Type: history.Info, F: history.F(words[2])})
		return
	}
	if words[1] == "fault" || words[1] == "fault-ends" {
		_, rest, _ := strings.Cut(line, words[1])
		on, text, _ := strings.Cut(rest, ":")
		e := history.Event{Time: at, Process: history.Nemesis, Type: history.Invoke, Value: strings.TrimSpace(text)}
		if words[1] == "fault-ends" {
			e.Type = history.OK
		}
		e.F, e.Fault = struck(e.Value, names(on))
		if f, err := nemesis.Parse(e.Value); err == nil {
			e.Lock = f.Lock
		}
		p.add(e)
		return
	}
	for _, process := range strings.Split(words[1], ",") {
		p.event(at, process, words[2], words[3:])
	}
}

// struck returns what a history records about a fault. If the line is in the plan syntax, the fault is from the
// simulator. If not, the history is from another system, which records only the affected processes.
func struck(line string, on []history.Process) (history.F, *history.Fault) {
	if f, err := nemesis.Parse(line); err == nil {
		return history.F(f.Kind.String()), f.Struck()
	}
	verb, _, _ := strings.Cut(line, " ")
	return history.F(verb), &history.Fault{On: on}
}

func (p *parser) event(at history.Time, process, f string, rest []string) {
	e := history.Event{Time: at, Process: history.Process(process), Type: history.OK, F: history.F(f), Lock: "orders"}
	if len(rest) > 0 && !strings.Contains(rest[0], "=") {
		e.Type = map[string]history.Type{"invoke": history.Invoke, "ok": history.OK, "fail": history.Fail,
			"info": history.Info}[rest[0]]
		if e.Type == 0 {
			p.t.Fatalf("no type of event is called %q", rest[0])
		}
		rest = rest[1:]
	}
	asks := e.F == history.Acquire && e.Type == history.Invoke
	switch e.F {
	case history.Acquire, history.Extend, history.Release, history.Lost, history.Read, history.Write:
		if asks {
			p.attempts[process]++
		} else {
			e.Attempt = history.Attempt(fmt.Sprintf("%s/%d", process, p.attempts[process]))
		}
	case history.KeySet:
		e.Until = history.Never
	case history.Crashed:
		e.Type, e.Lock = history.Info, ""
	case history.Apply, history.KeyGone, history.KeyProlonged, history.Woken:
	default:
		p.t.Fatalf("no %q", f)
	}
	if e.Type == history.Invoke {
		p.called[process+f] = at
	}
	g := history.Grant{Since: p.called[process+f], Granted: at, Counted: p.h.Header.Servers}
	for _, w := range rest {
		key, value, _ := strings.Cut(w, "=")
		p.field(&e, &g, key, value)
	}
	if e.By == "" && !slices.Contains(rest, "by=") && (e.F == history.KeySet || e.F == history.KeyProlonged) {
		e.By = e.Of
	}
	p.add(e)
}

func (p *parser) add(e history.Event) {
	e.Index = len(p.h.Events)
	p.h.Events = append(p.h.Events, e)
}

func (p *parser) field(e *history.Event, g *history.Grant, key, value string) {
	switch key {
	case "lock":
		e.Lock = history.Lock(value)
	case "shared":
		e.Shared = true
	case "task":
		e.Task = history.Task(p.number(value))
	case "attempt":
		e.Attempt = history.Attempt(value)
	case "token":
		e.Token = history.Token(p.number(value))
	case "value":
		e.Value = value
	case "of":
		e.Of = history.Attempt(value)
	case "member":
		e.Member = value
	case "by":
		e.By = history.Attempt(value)
	case "sent":
		e.Sent = p.time(value)
	case "checked":
		e.Checked = p.check(value)
	case "op":
		e.Op = history.F(value)
	case "why":
		e.Why = history.Why(strings.ReplaceAll(value, "_", " "))
	case "until":
		if e.F == history.Acquire || e.F == history.Extend {
			g.Until, e.Grant = p.time(value), g
		} else {
			e.Until = p.time(value)
		}
	case "open":
		g.Open = true
	case "told":
		g.Told = true
	case "since":
		g.Since = p.time(value)
	case "granted":
		g.Granted = p.time(value)
	case "counted":
		g.Counted = names(value)
	default:
		p.t.Fatalf("no field %q", key)
	}
}

// check returns the kind of check that has the given name in histories.
func (p *parser) check(name string) history.Check {
	for c := history.CheckedNothing; c.String() != ""; c++ {
		if c.String() == name {
			return c
		}
	}
	p.t.Fatalf("no kind of check is called %q", name)
	return history.CheckNotRecorded
}

func (p *parser) header(word string) {
	h := &p.h.Header
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "servers":
		h.Servers = names(value)
	case "clients":
		h.Clients = names(value)
	case "shards":
		for group := range strings.SplitSeq(value, ",") {
			h.Groups = append(h.Groups, names(strings.ReplaceAll(group, "+", ",")))
		}
	case "locks":
		for _, l := range names(value) {
			h.Locks = append(h.Locks, history.Lock(l))
		}
	case "quorum":
		h.Quorum = p.number(value)
	case "permits":
		h.Permits = p.number(value)
	case "order":
		slack, turn, _ := strings.Cut(value, "/")
		h.Order = history.Order{Slack: p.time(slack), Turn: p.time(turn)}
	case "asked": // all requests were recorded
		h.Asked = map[history.Process]history.Time{}
		if client, at, some := strings.Cut(value, "@"); some {
			h.Asked[history.Process(client)] = p.time(at)
		}
	case "quiet":
		client, times, _ := strings.Cut(value, "@")
		from, to, _ := strings.Cut(times, "..")
		h.Quiet = map[history.Process]history.Span{history.Process(client): {From: p.time(from), To: p.time(to)}}
	case "uncapped":
		h.Uncapped = true
	case "service":
		h.Service = history.Service(value)
	case "ttls":
		client, ttl, _ := strings.Cut(value, ":")
		h.TTLs = map[history.Process]history.Time{history.Process(client): p.time(ttl)}
	case "ttl":
		h.TTL = p.time(value)
	case "hold":
		h.Hold = p.time(value)
	case "slack":
		h.Slack = p.time(value)
	case "bound":
		h.Bound = p.time(value)
	case "measures":
		for _, m := range names(value) {
			h.Measures = append(h.Measures, history.Measure(m))
		}
	case "unknown":
		for _, m := range names(value) {
			h.Unknown = append(h.Unknown, history.Measure(m))
		}
	case "end":
		h.End = p.time(value)
	default:
		p.t.Fatalf("no header %q", key)
	}
}

func names(list string) []history.Process {
	var all []history.Process
	for n := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		all = append(all, history.Process(n))
	}
	return all
}

func (p *parser) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *parser) time(s string) history.Time {
	if s == "never" {
		return history.Never
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return history.Of(d)
}

// show prints a finding for golden files.
func show(f Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v", f.Law, f.Outcome)
	if f.Outcome == Violated {
		fmt.Fprintf(&b, " by %v, events %s", f.Cause, strings.Trim(fmt.Sprint(f.Witness), "[]"))
	}
	b.WriteString("\n" + wrapped(f.Explanation))
	if f.Remedy != "" {
		b.WriteString(wrapped("Remedy: " + f.Remedy))
	}
	for i := range f.Further {
		b.WriteString("also " + show(f.Further[i]))
	}
	return b.String()
}

func wrapped(s string) string {
	var b strings.Builder
	width := 0
	for _, w := range strings.Fields(s) {
		if width > 0 && width+1+len(w) > 112 {
			b.WriteString("\n")
			width = 0
		}
		if width == 0 {
			b.WriteString(" ")
		}
		b.WriteString(" " + w)
		width += 1 + len(w)
	}
	return b.String() + "\n"
}

func isLaw(s string) bool { return slices.Contains(Laws, Law(s)) }
