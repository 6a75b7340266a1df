package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/reading"
)

// TestARecordIsReadAsItWasMade records every kind of event, decodes the record and compares.
func TestARecordIsReadAsItWasMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	o := Options{Process: "orders-\xff7", ClockError: 2 * time.Millisecond,
		Header: history.Header{Locks: []history.Lock{"stock"}, TTL: 8e9, Service: history.Redlock}}
	r, err := Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(8 * time.Second)
	a := r.Acquiring("stock")
	a.Acquired(until, 7)
	x := a.Extending()
	x.Extended(until.Add(time.Second))
	x.NotExtended(history.Fail)
	if err := r.Record(history.Event{Type: history.OK, F: history.Apply, Op: history.Write, Lock: "stock", Of: a.Name(),
		Process: history.Resource}); err != nil {
		t.Error(err)
	}
	a.Releasing()
	a.Released(history.OK)
	b := r.AcquiringShared("st\xffck")
	b.NotAcquired(history.Type(9))
	c := r.Acquiring("stock")
	c.Acquired(time.Time{}, 0)
	c.Lost()
	sent := time.Now()
	for _, e := range []history.Event{{F: history.KeySet, Until: history.Time(until.UnixNano())},
		{F: history.KeyProlonged}, {F: history.KeyGone, Why: history.Deleted}} {
		e.Process, e.Type, e.Lock, e.Of, e.By = "redis-1", history.OK, "stock", c.Name(), c.Name()
		e.Sent = history.Time(sent.UnixNano())
		if err := r.Record(e); err != nil {
			t.Error(err)
		}
	}
	if err := r.Record(history.Event{Type: history.OK, F: "dance"}); err == nil {
		t.Error("an event that is none was recorded")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := history.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, e := range h.Events {
		got = append(got, fmt.Sprintf("%s %v %s %s %s %d", e.Process, e.Type, e.F, e.Lock, e.Attempt, e.Token))
		if e.Index != i || e.Time < 0 || i > 0 && e.Time < h.Events[i-1].Time {
			t.Errorf("event %d: index %d, time %v", i, e.Index, e.Time)
		}
	}
	want := `orders-?7 invoke acquire stock orders-?7/1 0
orders-?7 ok acquire stock orders-?7/1 7
orders-?7 invoke extend stock orders-?7/1 0
orders-?7 ok extend stock orders-?7/1 0
orders-?7 fail extend stock orders-?7/1 0
resource ok apply stock  0
orders-?7 invoke release stock orders-?7/1 0
orders-?7 ok release stock orders-?7/1 0
orders-?7 invoke acquire st?ck orders-?7/2 0
orders-?7 info acquire st?ck orders-?7/2 0
orders-?7 invoke acquire stock orders-?7/3 0
orders-?7 ok acquire stock orders-?7/3 0
orders-?7 info lost stock orders-?7/3 0
redis-1 ok key-set stock  0
redis-1 ok key-prolonged stock  0
redis-1 ok key-gone stock  0`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	g := h.Events[1].Grant
	if at := h.Header.Start + int64(g.Until); g.Since != h.Events[0].Time || g.Granted != h.Events[1].Time ||
		at != until.UnixNano() || h.Events[11].Grant != nil {
		t.Errorf("%+v", g)
	}
	keys := h.Events[13:]
	for _, e := range keys {
		if e.Sent < 1 || h.Header.Start+int64(e.Sent) != sent.UnixNano() {
			t.Errorf("%s: sent at %d", e.F, e.Sent)
		}
	}
	if keys[0].Until != g.Until || keys[1].Until != history.Never || keys[2].Until != 0 {
		t.Errorf("%+v", keys)
	}
	if x := h.Events[3].Grant; x.Since < h.Events[2].Time || x.Until != g.Until+1e9 {
		t.Errorf("%+v", x)
	}
	if head := h.Header; head.ClockError != 2e6 || head.TTL != 8e9 || head.Start == 0 || len(head.Locks) != 1 {
		t.Errorf("%+v", head)
	}
}

// TestAClockThatIsSetBackSpoilsNoRecord sets the clock back during a call, so that the call seems to be later than its
// return. The recorder must then record the call with the time of its return.
func TestAClockThatIsSetBackSpoilsNoRecord(t *testing.T) {
	var file bytes.Buffer
	r, err := New(&file, Options{Process: "a", ClockError: 1})
	if err != nil {
		t.Fatal(err)
	}
	a := r.Acquiring("stock")
	a.called += 1e15
	a.Acquired(time.Now(), 0)
	a.Extended(time.Now())
	h, err := history.Decode(&file)
	if err != nil || len(h.Events) != 3 {
		t.Fatalf("%+v, %v", h, err)
	}
	for _, e := range h.Events[1:] {
		if e.Grant.Since != e.Time || e.Grant.Granted != e.Time {
			t.Errorf("%+v", e.Grant)
		}
	}
}

// TestWhatContradictsTheHeaderIsLeftOut calls a recorder with arguments that contradict its header. The recording must
// stay readable without them, and Err must say what is missing.
func TestWhatContradictsTheHeaderIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		header history.Header
		record func(*Recorder)
		want   string
	}{
		{history.Header{Servers: []history.Process{"redis-1"}}, func(r *Recorder) {
			r.Acquiring("stock").Acquired(time.Now().Add(time.Hour), 0, "redis-1", "redis-9")
		}, `recorder: a/1: "counted" lists "redis-9", which is not one of the header's "servers"`},
		{history.Header{}, func(r *Recorder) {
			r.Acquiring("stock").Acquired(time.Now().Add(time.Hour), 0, "redis-1", "redis-1")
		}, `recorder: a/1: "counted" lists "redis-1" twice`},
		{history.Header{Permits: 2}, func(r *Recorder) {
			r.AcquiringShared("stock").Acquired(time.Now().Add(time.Hour), 0, "redis-1")
		}, `recorder: a/1: a semaphore has no shared holds: the header has 2 "permits", and each hold takes one`},
	} {
		var file bytes.Buffer
		r, err := New(&file, Options{Process: "a", ClockError: 1, Header: c.header})
		if err != nil {
			t.Fatal(err)
		}
		c.record(r)
		if got := fmt.Sprint(r.Err()); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		h, err := history.Decode(&file)
		if err != nil || len(h.Events) != 2 || h.Events[1].Grant == nil {
			t.Errorf("%+v, %v", h, err)
		}
		shared := history.Event{Type: history.Invoke, F: history.Acquire, Lock: "stock", Shared: true}
		if err := r.Record(shared); (err != nil) != (c.header.Permits > 1) {
			t.Errorf("a shared hold: %v", err)
		}
	}
}

func TestARecorderRefusesWhatCannotBeJudged(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(taken, Options{ClockError: 1}); !errors.Is(err, os.ErrExist) {
		t.Errorf("over another file: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "exact"), Options{}); err == nil ||
		!strings.Contains(err.Error(), "ClockError is 0s: it must be more than zero") {
		t.Errorf("without an error of the clock: %v", err)
	}
	if _, err := New(&disk{}, Options{ClockError: 1}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("without a header: %v", err)
	}
}

// TestNoRecorderIsNoRecord checks that a nil Recorder's methods do nothing, so that a service can call them even if it
// is not recording.
func TestNoRecorderIsNoRecord(t *testing.T) {
	var r *Recorder
	a := r.Acquiring("stock")
	a.Acquired(time.Now(), 1)
	a.Extending().Extended(time.Now())
	a.Releasing()
	a.Released(history.OK)
	if err := errors.Join(r.Record(history.Event{}), r.Err(), r.Close()); err != nil || a.Name() != "" {
		t.Error(err)
	}
}

// disk is a writer that accepts a limited number of bytes.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n, _ := d.Buffer.Write(p[:min(len(p), d.room-d.Len())])
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// TestAFullDiskLeavesWhatWasThere checks that if the disk fills up, a record can be read up to its last complete line.
func TestAFullDiskLeavesWhatWasThere(t *testing.T) {
	record := func(d *disk) (r *Recorder) {
		r, err := New(d, Options{Process: "p", ClockError: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.Acquiring("stock").NotAcquired(history.Fail)
		}
		return r
	}
	whole := &disk{room: 1 << 20}
	if err := record(whole).Err(); err != nil {
		t.Fatal(err)
	}
	header := bytes.IndexByte(whole.Bytes(), '\n') + 1
	for room := header; room < whole.Len(); room++ {
		d := &disk{room: room}
		r := record(d)
		if r.Err() == nil && bytes.Count(d.Bytes(), []byte("\n")) == 7 {
			continue // this line is shorter, because its times have fewer digits
		}
		if !errors.Is(r.Err(), io.ErrShortWrite) || !errors.Is(r.Close(), io.ErrShortWrite) {
			t.Errorf("room for %d bytes: %v", room, r.Err())
		}
		events := bytes.Count(d.Bytes(), []byte("\n")) - 1
		rest := d.Bytes()[bytes.LastIndexByte(d.Bytes(), '\n')+1:]
		if bytes.HasSuffix(rest, []byte("}")) { // the line is complete except for the newline
			events, rest = events+1, nil
		}
		h, cut, err := history.DecodeCut(&d.Buffer, nil)
		if err != nil || len(h.Events) != events || (cut != nil) != (len(rest) > 0) {
			t.Errorf("room for %d bytes: %v, cut: %v", room, err, cut)
		}
	}
}

// TestManyGoroutinesRecordAtOnce has two services, each with many goroutines, take turns acquiring one mutex. Their
// merged files show all sections, and no two sections of the same service overlap.
func TestManyGoroutinesRecordAtOnce(t *testing.T) {
	const workers, cycles = 8, 50
	var lock sync.Mutex
	var all sync.WaitGroup
	var files [2]bytes.Buffer
	for i := range files {
		r, err := New(&files[i], Options{Process: history.Process(fmt.Sprint("service-", i+1)), ClockError: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range workers {
			all.Go(func() {
				for range cycles {
					a := r.Acquiring("stock")
					lock.Lock()
					a.Acquired(time.Now().Add(time.Hour), 0)
					a.Releasing()
					lock.Unlock()
					a.Released(history.OK)
				}
			})
		}
	}
	all.Wait()
	var parts []reading.Part
	for i := range files {
		f, err := reading.Read(fmt.Sprint(i), &files[i])
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, f.Part)
	}
	h, err := reading.Merge(parts)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Events) != 2*workers*cycles*4 {
		t.Errorf("%d events", len(h.Events))
	}
	for _, law := range []checker.Law{checker.MutualExclusion, checker.LeaseExclusion} {
		if f := checker.Check(h).Of(law); f.Outcome == checker.Violated || f.Outcome == checker.Unchecked {
			t.Errorf("%s: %v: %s", law, f.Outcome, f.Explanation)
		}
	}
}

// TestEventsCostNoMemory checks that an event does not allocate any memory, except for an attempt's name.
func TestEventsCostNoMemory(t *testing.T) {
	r, err := New(io.Discard, Options{Process: "orders-7", ClockError: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now()
	a := r.Acquiring("stock")
	if n := testing.AllocsPerRun(100, func() { r.Acquiring("stock") }); n > 1 {
		t.Errorf("an attempt allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { a.Acquired(until, 7); a.Releasing(); a.Released(history.OK) }); n > 0 {
		t.Errorf("three events allocate %v times", n)
	}
}

// BenchmarkEvent measures how long it takes to write an event to a file. A quarter of the events are Acquired, with a
// grant.
func BenchmarkEvent(b *testing.B) {
	r, err := Create(filepath.Join(b.TempDir(), "history.jsonl"), Options{Process: "orders-7", ClockError: 1e6})
	if err != nil {
		b.Fatal(err)
	}
	until := time.Now().Add(8 * time.Second)
	b.ReportAllocs()
	for b.Loop() {
		a := r.Acquiring("stock")
		a.Acquired(until, 7)
		a.Releasing()
		a.Released(history.OK)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(4*b.N), "ns/event")
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}

// TestACopyOfAFileIsJudgedToItsEnd judges the history of a service whose file ends while the service is inside its
// section. It is then unknown whether the service stayed inside.
func TestACopyOfAFileIsJudgedToItsEnd(t *testing.T) {
	part := func(name string, lines ...string) reading.Part {
		h, err := history.Decode(strings.NewReader(`{"header":{"start":1,"clock_error":1}}` + "\n" +
			strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return reading.Part{Name: name, History: h}
	}
	event := func(at int, process, f, kind string) string {
		return fmt.Sprintf(`{"time":%d,"process":%q,"type":%q,"f":%q,"lock":"l"}`, at, process, kind, f)
	}
	for at, want := range map[int]checker.Outcome{50: checker.Violated, 200: checker.Undecided} {
		h, err := reading.Merge([]reading.Part{
			part("crashed", event(10, "a", "acquire", "ok"), event(100, "a", "acquire", "invoke")),
			part("other", event(at, "b", "acquire", "ok"), event(300, "b", "release", "invoke"))})
		if err != nil {
			t.Fatal(err)
		}
		if f := checker.Check(h).Of(checker.MutualExclusion); f.Outcome != want {
			t.Errorf("acquired at %d: %v, want %v: %s", at, f.Outcome, want, f.Explanation)
		}
	}
}

// TestWhatTheRemedyAsksForCanBeRecorded starts from a violation with a cause that was not recorded. The remedy names
// the events that would show the cause. A recorder must accept these events, and they must reveal the cause.
func TestWhatTheRemedyAsksForCanBeRecorded(t *testing.T) {
	for _, all := range []bool{false, true} {
		var file bytes.Buffer
		r, err := New(&file, Options{Process: "orders", ClockError: 1})
		if err != nil {
			t.Fatal(err)
		}
		enter := func() Attempt {
			a := r.Acquiring("stock")
			if !all {
				a.Acquired(time.Now().Add(time.Hour), 0)
				return a
			}
			if err := r.Record(history.Event{Process: "redis-1", Type: history.OK, F: history.KeySet, Lock: "stock",
				Of: a.Name(), By: a.Name(), Until: history.Never}); err != nil {
				t.Error(err)
			}
			a.Acquired(time.Now().Add(time.Hour), 0, "redis-1")
			return a
		}
		first := enter()
		if all {
			if err := r.Record(history.Event{Process: "redis-1", Type: history.OK, F: history.KeyGone, Lock: "stock",
				Of: first.Name(), Why: history.Flushed}); err != nil {
				t.Error(err)
			}
		}
		enter()
		h, err := history.Decode(&file)
		if err != nil {
			t.Fatal(err)
		}
		h.Header.ClockError = 0
		f := checker.Check(h).Of(checker.LeaseExclusion)
		if known := f.Cause.Kind != checker.CauseNotRecorded; f.Outcome != checker.Violated || known != all {
			t.Errorf("with all that the remedy asks for: %t: %v by %v", all, f.Outcome, f.Cause)
		}
	}
}

// TestAProcessIsNamedByItsProgram checks that a process's name contains its program's name if the options do not
// specify a name.
func TestAProcessIsNamedByItsProgram(t *testing.T) {
	var file bytes.Buffer
	r, err := New(&file, Options{ClockError: 1})
	if err != nil {
		t.Fatal(err)
	}
	program := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	name := string(r.Acquiring("stock").Name())
	if !strings.HasPrefix(name, program+"@") || !strings.HasSuffix(name, fmt.Sprintf("-%d/1", os.Getpid())) {
		t.Errorf("the first attempt is named %s", name)
	}
}
