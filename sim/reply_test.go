package sim

import (
	"fmt"
	"testing"
)

func TestReplySaysWhatTheServerSaid(t *testing.T) {
	for raw, want := range map[string]string{
		"+OK\r\n":                    "ok",
		"$-1\r\n":                    "nil",
		"*-1\r\n":                    "nil",
		":0\r\n":                     "0",
		":-12\r\n":                   "-12",
		":12345678901\r\n":           "12345678901",
		"$0\r\n\r\n":                 `""`,
		"$5\r\nhello\r\n":            `"hello"`,
		"-ERR no\r\n":                "error ERR no",
		"*0\r\n":                     "[]",
		"*2\r\n$1\r\na\r\n:7\r\n":    `["a" 7]`,
		"*2\r\n*1\r\n+OK\r\n$-1\r\n": "[[ok] nil]",
		"*2\r\n$1\r\na\r\n":          "torn",
		"*1\r\n$9\r\na\r\n":          "torn",
		"*1\r\n":                     "torn",
		"*x\r\n":                     "torn",
	} {
		r := NewReply([]byte(raw))
		if got := describe(&r); got != want {
			t.Errorf("%q says %s, want %s", raw, got, want)
		}
	}
}

func describe(r *Reply) string {
	if n, ok := r.Int(); ok {
		return fmt.Sprint(n)
	}
	if s, ok := r.Bulk(); ok {
		return fmt.Sprintf("%q", s)
	}
	switch {
	case r.OK():
		return "ok"
	case r.Nil():
		return "nil"
	case r.Error() != "":
		return "error " + r.Error()
	}
	list := r.Array()
	if list == nil && string(r.Raw()) != "*0\r\n" {
		return "torn"
	}
	s := "["
	for i := range list {
		if i > 0 {
			s += " "
		}
		s += describe(&list[i])
	}
	return s + "]"
}

func TestOnlyAnAnswerSaysAnything(t *testing.T) {
	for _, s := range []Status{NoReply, Reset, Refused} {
		r := Reply{Status: s, raw: []byte("+OK\r\n")}
		if r.OK() || r.Nil() || r.Error() != "" || r.Raw() != nil || r.Array() != nil {
			t.Errorf("status %d says something", s)
		}
		if _, ok := r.Int(); ok {
			t.Errorf("status %d is a number", s)
		}
	}
}

// TestRepliesKeepTheirMemory checks that a client's memory use does not grow if it alternates between requests to one
// server and requests to several.
func TestRepliesKeepTheirMemory(t *testing.T) {
	l := newLab(t)
	requests := []Request{to("s-1", "A"), to("s-2", "B"), to("s-1", "C"), to("s-2", "D")}
	l.client("c", func(env Env) {
		for n := range 40 {
			env.Call(20*ms, nil, requests[:1+n*3%4]...)
			env.CallInTurn(20*ms, func(int, *Reply) bool { return true }, requests[:1+n%3]...)
		}
		if n := cap(env.(*task).call.replies); n > 2*len(requests) {
			t.Errorf("there is memory for %d replies, and at most %d come at once", n, len(requests))
		}
		l.say("all are answered")
	})
	if l.run(); len(l.log) != 1 {
		t.Error("the client did not end")
	}
}
