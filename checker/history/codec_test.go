package history

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// sample returns a history that uses every field of the header except Permits, and every field of events.
func sample() *History {
	return &History{
		Header: Header{Scenario: "sample", Seed: 1<<64 - 1, Clients: []Process{"client-1"},
			Servers: []Process{"redis-1", "redis-2"},
			Groups:  [][]Process{{"redis-1", "redis-2"}}, Locks: []Lock{"orders"}, Quorum: 1, TTL: 10e9, Hold: 1e8,
			TTLs: map[Process]Time{"client-1": 9e9}, Uncapped: true, Slack: 1e9, Bound: 5e8, End: 6e10,
			Messages: 40, Attempts: 5, Taken: 3, Order: Order{Slack: 1e8, Turn: 3e8}, Service: Redis,
			Measures: []Measure{Expiry}, Unknown: []Measure{OwnValue}, Lapses: []Lapse{PartOfOwner},
			Asked: map[Process]Time{"client-1": 8}, Quiet: map[Process]Span{"client-1": {From: 1, To: 5}},
			Recording: Recording{Start: 1e18, ClockError: 5, ClockErrors: map[Process]Time{"redis-1": 3},
				Seen: map[Process]Time{"redis-1": 9}, Reading: Strict, Reentrant: true, Initial: "nil"}},
		Events: []Event{
			{Index: 0, Time: 0, Process: "client-1", Type: Invoke, F: Acquire, Lock: "orders", Shared: true,
				Task: 2},
			{Index: 1, Time: 5, Process: "redis-1", Type: OK, F: KeySet, Lock: "orders", Of: "client-1/1",
				By: "client-1/1", Value: "v", Until: 10},
			{Index: 2, Time: 5, Process: "redis-1", Type: OK, F: KeySet, Lock: "counter", Until: Never},
			{Index: 3, Time: 5, Process: "redis-1", Type: OK, F: KeyProlonged, Lock: "orders", Of: "client-1/1",
				By: "client-1/1", Member: "m", Sent: 4, Checked: CheckedValue, Until: 0},
			{Index: 4, Time: 6, Process: "client-1", Type: OK, F: Acquire, Lock: "orders", Attempt: "client-1/1",
				Token: 7, Grant: &Grant{Since: 1, Granted: 6, Until: -3, Counted: []Process{"redis-1", "redis-2"}}},
			{Index: 5, Time: 7, Process: "client-1", Type: OK, F: Extend, Lock: "orders", Attempt: "client-1/1",
				Grant: &Grant{Open: true, Told: true}},
			{Index: 6, Time: 8, Process: Resource, Type: Fail, F: Apply, Op: Write, Lock: "orders", Token: 6,
				Value: "a \"b\\\n\x01 <é>\u2028", Of: "client-1/1", Why: StaleToken},
			{Index: 7, Time: 8, Process: Nemesis, Type: Invoke, F: "crash", Value: "crash redis-1 at 1s",
				Fault: &Fault{On: []Process{"client-1"}, To: []Process{"redis-1"}, Ends: true, Loses: LosesEverything,
					Shift: -5, PPM: 7}},
			{Index: 9, Time: -1, Process: "client-1", Type: Info, F: Crashed},
			{Index: 12, Time: 9, Process: "redis-1", Type: OK, F: KeyGone, Lock: "orders", Of: "client-1/1",
				By: "client-1/1", Why: Deleted},
		},
	}
}

// TestTheSampleUsesEveryField checks that a new field is added to the sample.
func TestTheSampleUsesEveryField(t *testing.T) {
	h := sample()
	h.Header.Permits = 1 // a history of a semaphore has no shared holds, so the sample lacks this field
	used := map[string]bool{}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name
			used[name] = used[name] || !f.IsZero()
			switch f.Type() {
			case reflect.TypeFor[Recording](), reflect.TypeFor[Order]():
				visit(f)
			case reflect.TypeFor[*Grant](), reflect.TypeFor[*Fault]():
				if !f.IsNil() {
					visit(f.Elem())
				}
			}
		}
	}
	visit(reflect.ValueOf(h.Header))
	for _, e := range h.Events {
		visit(reflect.ValueOf(e))
	}
	for name, is := range used {
		if !is {
			t.Errorf("the sample does not use %s", name)
		}
	}
}

func TestAHistoryComesBackAsItWasWritten(t *testing.T) {
	var first, second bytes.Buffer
	if err := Encode(&first, sample()); err != nil {
		t.Fatal(err)
	}
	got, err := Decode(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if want := sample(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if err := Encode(&second, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("written twice, the bytes differ:\n%s\n%s", &first, &second)
	}
}

func TestTheFormIsTheOneUsersRead(t *testing.T) {
	var out bytes.Buffer
	h := sample()
	events := append(h.Events[3:5:5], Event{Index: 5, Time: 9, Process: "client-1", Type: Info, F: Crashed, Until: 7})
	if err := Encode(&out, &History{Header: Header{Seed: 3, End: 9}, Events: events}); err != nil {
		t.Fatal(err)
	}
	const want = `{"header":{"seed":3,"end":9}}
{"index":3,"time":5,"process":"redis-1","type":"ok","f":"key-prolonged","lock":"orders","of":"client-1/1","member":"m","by":"client-1/1","sent":4,"checked":"value","until":0}
{"index":4,"time":6,"process":"client-1","type":"ok","f":"acquire","lock":"orders","attempt":"client-1/1","token":7,"since":1,"granted":6,"until":-3,"counted":["redis-1","redis-2"]}
{"index":5,"time":9,"process":"client-1","type":"info","f":"crashed","until":7}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestAForeignHistoryNeedsNeitherHeaderNorIndex(t *testing.T) {
	h, err := Decode(strings.NewReader("\r\n" + ` { "f" : "acquire" , "type":"invoke","time":1,"process":"a" }` +
		"\r\n" +
		`{"f":"crash","type":"info","time":2,"process":"a","on":[],"index":7}` + "\n" +
		`{"f":"release","type":"invoke","time":2,"process":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &History{Events: []Event{
		{Index: 0, Time: 1, Process: "a", Type: Invoke, F: Acquire},
		{Index: 7, Time: 2, Process: "a", Type: Info, F: Crashed},
		{Index: 8, Time: 2, Process: "a", Type: Invoke, F: Release},
	}}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("got %+v\nwant %+v", h, want)
	}
}

const good = `{"time":1,"process":"a","type":"ok","f":"lost","index":4}` + "\n"

func TestBadInputIsRefusedWithLineAndReason(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{good + `{"time":1,"proces":"a"}`, `line 2: unknown key "proces" (did you mean "process"?)`},
		{`{"Time":1}`, `line 1: unknown key "Time" (did you mean "time"?)`},
		{`{"qqqqqq":1}`, `line 1: unknown key "qqqqqq"`},
		{`{"time":1,"time":1}`, `line 1: key "time" occurs twice`},
		{`{"time":1,"process":"a","type":"invok","f":"lost"}`,
			`line 1: "type": unknown type "invok" (did you mean "invoke"?)`},
		{`{"time":1,"process":"a","type":"ok","f":"aquire"}`, `line 1: unknown f "aquire" (did you mean "acquire"?)`},
		{`{"time":1,"process":"a","type":"ok"}`, `line 1: no "f"`},
		{good + good, `line 2: index out of order: 4 follows 4`},
		{`{"index":-1,"time":1,"process":"a","type":"ok","f":"lost"}`, `line 1: "index" is -1: it must be 0 or larger`},
		{`{"index":9223372036854775807,"time":1,"process":"a","type":"ok","f":"lost"}`,
			`line 1: index 9223372036854775807 is too large`},
		{`{"time":1.5}`, `line 1: "time": expected a whole number, found a fraction or an exponent`},
		{`{"time":"1"}`, `line 1: "time": expected a whole number, found '"' in column 9`},
		{`{"time":99999999999999999999}`, `line 1: "time": 99999999999999999999 does not fit in 64 bits`},
		{`{"time":1-1}`, `line 1: "time": "1-1" is not a number`},
		{`{"process":null}`, `line 1: "process": expected text in double quotes, found 'n' in column 12`},
		{`{"process":"a`, `line 1: "process": text without its closing quote`},
		{`{"process":"\q"}`, `line 1: "process": bad escape in text "\q"`},
		{"{\"process\":\"\xff\"}", `line 1: "process": text is not UTF-8`},
		{`{"shared":yes}`, `line 1: "shared": expected true or false, found 'y' in column 11`},
		{`{"task":0}`, `line 1: "task": expected a number of 1 or more, found 0`},
		{`{"on":"a"}`, `line 1: "on": expected '[', found '"' in column 7`},
		{`{"on":["a"`, `line 1: "on": expected ',', found the end of the line`},
		{`{"time":1} x`, `line 1: expected the end of the line, found 'x' in column 12`},
		{`[1]`, `line 1: expected '{', found '[' in column 1`},
		{"\x00\x01\x02", `line 1: expected '{', found '\x00' in column 1`},
		{`{"since":1,"time":1,"process":"a","type":"ok","f":"acquire"}`,
			`line 1: a grant needs since, granted and until: "granted" is missing`},
		{`{"since":1,"time":1,"process":"a","type":"ok","f":"key-set"}`, `line 1: key-set ok has fields of a grant ` +
			`(since, granted, counted), which only acquire ok and extend ok may have: remove them`},
		{good + `{"header":{}}`, `line 2: a header is allowed only on the first line`},
		{good + `{ "header" : {}}`, `line 2: a header is allowed only on the first line`},
		{`{"header":{"quorun":3}}`, `line 1: header: unknown key "quorun" (did you mean "quorum"?)`},
		{`{"header":{"quorum":"3"}}`, `line 1: header: "quorum" cannot be a JSON string`},
		{`{"header":{"ttl":1,"ttl":2}}`, `line 1: header: key "ttl" occurs twice`},
		{`{"header":{"clock_error":9,"clock_errors":{"a":1,"a":2}}}`, `line 1: header: key "a" occurs twice`},
		{`{"header":{"ttl":1},"header":{"ttl":2}}`, `line 1: header: key "header" occurs twice`},
		{`{"header":{"TTL":1}}`, `line 1: header: unknown key "TTL" (did you mean "ttl"?)`},
		{`{"header":{"header":{}}}`, `line 1: header: unknown key "header"`},
		{`{"header":null}`, `line 1: header: null`},
		{`{"header":{}} {}`, `line 1: header: unexpected text follows on the same line: start a new line`},
		{good + strings.Repeat(" ", maxLine) + "\n", `line 2: longer than 1048576 bytes`},
	} {
		_, err := Decode(strings.NewReader(c.in))
		if got := fmt.Sprint(err); got != "history: "+c.want {
			t.Errorf("%.80q:\ngot  %s\nwant history: %s", c.in, got, c.want)
		}
	}
}

func TestWhatCannotBeReadBackIsNotWritten(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Process: "a", F: Lost}, "type is 0, but must be one of: invoke, ok, fail, info"},
		{Event{Process: "a", F: "lots", Type: OK}, `unknown f "lots"`},
		{Event{Process: "a", F: Crashed, Type: Info, Time: 5, Until: 6}, `"until" of a crash is 6: ` +
			`it is when the process was last known to be alive, and must be from 1 to the event's "time" (5)`},
		{Event{Process: "a", F: Crashed, Type: Info, Time: 5, Until: -1}, `"until" of a crash is -1: ` +
			`it is when the process was last known to be alive, and must be from 1 to the event's "time" (5)`},
		{Event{Process: "a", F: Lost, Type: OK, Until: 1}, "lost has the deadline of a key, which only key-set and " +
			"key-prolonged may have"},
		{Event{F: Lost, Type: OK}, "the name of the process is empty"},
		{Event{Process: "a", F: KeySet, Type: OK, Grant: &Grant{}}, "key-set ok has fields of a grant (since, " +
			"granted, counted), which only acquire ok and extend ok may have: remove them"},
		{Event{Process: "a", F: Release, Type: OK, Grant: &Grant{}}, "release ok has fields of a grant (since, " +
			"granted, counted), which only acquire ok and extend ok may have: remove them"},
		{Event{Process: "a", F: Acquire, Type: OK, Time: 5, Grant: &Grant{Granted: 6}},
			`"granted" (6) is after the event's own "time" (5): a lease is granted before its holder returns`},
		{Event{Process: "a", F: Acquire, Type: OK, Task: -1}, `"task" is -1: it must be 1 or larger, or 0 if it is unknown`},
		{Event{Process: "a", F: Acquire, Type: OK, Shared: true},
			`a semaphore has no shared holds: the header has 2 "permits", and each hold takes one`},
		{Event{Process: Nemesis, F: Crash, Type: Invoke, Fault: &Fault{On: []Process{"a"}, Loses: "everythin"}},
			`unknown loss "everythin" (did you mean "everything"?)`},
		{Event{Process: "a", F: Lost, Type: OK, Value: "\xff"}, "value is not UTF-8"},
		{Event{Process: "a", F: Lost, Type: OK, Value: strings.Repeat("x", maxLine)},
			"the line has 1048645 bytes: at most 1048576 are allowed"},
	} {
		err := Encode(&bytes.Buffer{}, &History{Header: Header{Permits: 2}, Events: []Event{c.e}})
		if got := fmt.Sprint(err); got != "history: event 0: "+c.want {
			t.Errorf("%s: got %q, want %q", c.e.F, got, c.want)
		}
	}
	twice := &History{Events: []Event{{Process: "a", Type: OK, F: Lost}, {Process: "a", Type: OK, F: Lost}}}
	if err := Encode(&bytes.Buffer{}, twice); err == nil {
		t.Error("two events of one index were written")
	}
	late := &History{Events: []Event{{Index: maxIndex + 1, Process: "a", Type: OK, F: Lost}}}
	if err := Encode(&bytes.Buffer{}, late); err == nil {
		t.Error("an index that is too large was written")
	}
	negative := &History{Header: Header{TTL: -1}}
	if err := Encode(&bytes.Buffer{}, negative); fmt.Sprint(err) !=
		`history: header: "ttl" is -1: it cannot be negative` {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	var b bytes.Buffer
	if err := Encode(&b, sample()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(good))
	f.Add([]byte(`{"header":{"seed":1}}` + "\n" + good))
	f.Add(
		[]byte(
			`{"since":1,"granted":2,"until":3,"time":1,"process":"a","type":"ok","f":"acquire","value":"\ud800\u0000"}`))
	f.Add([]byte("\x00\xff{\"\\"))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := Decode(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := Encode(&out, h); err != nil {
			t.Fatalf("read but not writable: %v", err)
		}
		again, err := Decode(&out)
		if err != nil {
			t.Fatalf("written but not readable: %v", err)
		}
		// ignore the header, whose lists may be empty in one history and nil in the other
		clear := func(h *Header) { *h = Header{} }
		clear(&h.Header)
		clear(&again.Header)
		if !reflect.DeepEqual(h, again) {
			t.Fatalf("got %+v, want %+v", again, h)
		}
	})
}

func TestClocksAreNamedByWhatTheyMayBeOff(t *testing.T) {
	for _, c := range []struct {
		r    Recording
		want string
	}{
		{Recording{ClockError: 2e6}, "2ms each"},
		{Recording{ClockError: 2e6, ClockErrors: map[Process]Time{"b": 2e6, "a": 2e6}}, "2ms each"},
		{Recording{ClockError: 6e6, ClockErrors: map[Process]Time{"b": 2e6, "a": 6e6, "c": 2e6}},
			"2ms (b, c), 6ms (a)"},
		{Recording{ClockError: 6e6, ClockErrors: map[Process]Time{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}},
			"1ns (a, b, c, d, 2 more)"},
	} {
		if got := c.r.OffBy(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	r := Recording{ClockError: 6, ClockErrors: map[Process]Time{"a": 2}}
	if r.ErrorOf("a") != 2 || r.ErrorOf("b") != 6 {
		t.Errorf("%v and %v", r.ErrorOf("a"), r.ErrorOf("b"))
	}
	for want, seen := range map[string]map[Process]Time{"": nil, " ": {"a": 5e7, "b": 5e7},
		"0.050 s (b), 0.080 s (a)": {"a": 8e7, "b": 5e7}} {
		if got := (&Recording{Seen: seen}).RecordedUntil(); got != strings.TrimSpace(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func long(n int) *History {
	h := &History{Header: sample().Header}
	for i := range n {
		e := sample().Events[i%10]
		e.Index = i
		h.Events = append(h.Events, e)
	}
	return h
}

func BenchmarkEncode(b *testing.B) {
	h, out := long(400), &bytes.Buffer{}
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := Encode(out, h); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(out.Len()))
}

func BenchmarkDecode(b *testing.B) {
	var out bytes.Buffer
	if err := Encode(&out, long(400)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(out.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(bytes.NewReader(out.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTooManyEventsAreRefused checks, with a small limit, that a history with too many events is rejected.
func TestTooManyEventsAreRefused(t *testing.T) {
	lines := strings.Repeat(`{"time":1,"process":"a","f":"acquire","type":"invoke","lock":"l"}`+"\n", 3)
	forms := strings.Repeat("{:type :invoke, :f :acquire, :process 0}\n", 3)
	for most, want := range map[int]string{3: "", 2: "line 3: more than 16777216 events, the maximum for one history"} {
		_, _, err := decodeCut(strings.NewReader(lines), nil, most)
		_, edn := decodeEDN(strings.NewReader(forms), nil, most)
		for _, err := range []error{err, edn} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("with %d: %v, want %q", most, err, want)
			}
		}
	}
}
