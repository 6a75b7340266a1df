package remote

import (
	"errors"
	"strings"
	"testing"
)

// TestWhatIsPrintedIsOfWhatFollowsTheMark, in whatever pieces it comes and however much came before.
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

// TestAChannelOfAPackageVariableIsNamed by its package, also where only the goroutine that created the waiting one
// shows it: context waits for the Done of a context of another package.
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
	if got := culprits(dump); !strings.Contains(got, "in go.etcd.io/etcd/client/v3, which is where "+
		"v3.(*watchGrpcStream).run (watch.go:500) comes from") {
		t.Error(got)
	}
	other := culprits(strings.ReplaceAll(dump, "[select, ", "[sync.Mutex.Lock, "))
	if strings.Contains(other, "package variable") {
		t.Error(other)
	}
}

// TestGoroutinesAreThoseOfTheLatestBubble: the clock of an earlier one stands still, whatever waits in it.
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
