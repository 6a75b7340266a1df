package remote

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestWhatIsPrintedIsOfWhatFollowsTheMark checks that a tail keeps the text after the last mark, no matter how the
// output is split up or how long the text before the mark is.
func TestWhatIsPrintedIsOfWhatFollowsTheMark(t *testing.T) {
	const after = "\nWARNING: DATA RACE\n"
	for _, before := range []string{"", "of the run before", strings.Repeat("x", tailLimit+10)} {
		stream := before + "\n" + mark + "\nsomething" + mark + after
		marks := len(stream) - 40
		for cut := marks; cut <= len(stream); cut++ {
			for second := cut; second <= len(stream); second += 7 {
				var all tail
				for _, piece := range []string{stream[:cut], stream[cut:second], stream[second:]} {
					if n, err := all.Write([]byte(piece)); n != len(piece) || err != nil {
						t.Fatal(n, err)
					}
				}
				if string(all.text) != after {
					t.Fatalf("%d bytes before, cut at %d and %d: %q", len(before), cut, second, all.text)
				}
			}
		}
	}
}

func TestWhyAProcessEnded(t *testing.T) {
	var all tail
	all.Write([]byte("and this\n"))
	if got := all.ending(errors.New("exit status 66"), []byte("it printed this ")).Error(); got !=
		"the code under test ended its process: exit status 66\nit printed this and this" {
		t.Error(got)
	}
}

// TestAChannelOfAPackageVariableIsNamed checks that the error names the package that a channel belongs to, even if this
// can be seen only in the goroutine that created the waiting one. In the example, package context waits on the Done
// channel of another package's context.
func TestAChannelOfAPackageVariableIsNamed(t *testing.T) {
	const dump = `goroutine 41 [select (durable), synctest bubble 1]:
go.etcd.io/etcd/client/v3.(*watchGrpcStream).run(0xc000123456)
	/mod/client/v3/watch.go:500 +0x1
created by go.etcd.io/etcd/client/v3.(*watcher).newWatcherGrpcStream in goroutine 40

goroutine 42 [select, synctest bubble 1]:
context.(*cancelCtx).propagateCancel.func2()
	/go/src/context/context.go:510 +0x2
created by context.(*cancelCtx).propagateCancel in goroutine 41
	/go/src/context/context.go:509 +0x3
`
	if got := killed(dump).Error(); !strings.Contains(got, "in the package go.etcd.io/etcd/client/v3, "+
		"which contains v3.(*watchGrpcStream).run (watch.go:500).") {
		t.Error(got)
	}
	other := killed(strings.ReplaceAll(dump, "[select, ", "[runnable, ")).Error()
	if strings.Contains(other, "package variable") {
		t.Error(other)
	}
}

// killed returns the error for a process that was killed after printing the given dump.
func killed(dump string) error {
	return (&tail{killed: "the run made no progress"}).ending(nil, []byte(dump))
}

// TestAWaitForAMutexThatStopsTheClock checks a mutex wait that stops the most recent bubble's clock. It must be
// detected immediately, and the error must name versions of Go without this problem.
func TestAWaitForAMutexThatStopsTheClock(t *testing.T) {
	for name, test := range map[string]struct {
		states []string // states of goroutines, with their bubbles
		want   bool
	}{
		"stops":              {[]string{"sync.Mutex.Lock 2", "synctest.Wait 2", "running 0", "runnable 1"}, true},
		"stops for reading":  {[]string{"sync.RWMutex.RLock 2", "sleep (durable) 2"}, true},
		"passes":             {[]string{"sync.Mutex.Lock (durable) 2", "synctest.Wait 2"}, false},
		"an earlier bubble":  {[]string{"sync.Mutex.Lock 1", "select (durable) 2"}, false},
		"no bubble":          {[]string{"sync.Mutex.Lock 0", "select (durable) 1"}, false},
		"the holder runs":    {[]string{"sync.Mutex.Lock 1", "runnable 1"}, false},
		"waits for a socket": {[]string{"sync.Mutex.Lock 1", "IO wait 1"}, false},
		"a channel":          {[]string{"chan receive 1", "synctest.Wait 1"}, false},
	} {
		dump := ""
		for i, state := range test.states {
			at := strings.LastIndexByte(state, ' ')
			in := ", synctest bubble " + state[at+1:]
			if in == ", synctest bubble 0" {
				in = ""
			}
			dump += fmt.Sprintf("goroutine %d [%s%s]:\nlock.wait()\n\t/lock.go:1\n\n", i+2, state[:at], in)
		}
		if got := StandsStill(dump); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
		if !test.want {
			continue
		}
		var all tail
		ReportStandstill(&all, dump)
		if err := all.ending(errors.New("exit status 2"), nil); !strings.HasPrefix(err.Error(), Standstill) ||
			!strings.Contains(err.Error(), "lock.wait (lock.go:1) waits (sync.") ||
			!strings.Contains(err.Error(), "With Go 1.26 and 1.27 ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGoroutinesAreThoseOfTheLatestBubble checks that goroutines in earlier bubbles do not count, because the clocks of
// those bubbles have stopped.
func TestGoroutinesAreThoseOfTheLatestBubble(t *testing.T) {
	dump := ""
	for _, head := range []string{"2 [sleep (durable), synctest bubble 9]", "3 [chan receive, 2 minutes]",
		"4 [sync.Mutex.Lock, synctest bubble 10]", "5 [select (durable), synctest bubble 10 labels:{a: b}]",
		"6 [chan receive, synctest bubble 9]"} {
		dump += "goroutine " + head + ":\nlock.wait()\n\t/lock.go:1\n\n"
	}
	all := Goroutines(dump)
	if len(all) != 2 || all[0].State != "sync.Mutex.Lock" || all[1].State != "select" || !all[1].durable {
		t.Errorf("%+v", all)
	}
}
