//go:build linux

package live

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// holds acquires the lock, calls work, and releases the lock.
func holds(redis, resource *wire, lock string, work func()) {
	resource.ask("FENCEPOST", "ACQUIRING", lock)
	for redis.ask("SET", lock, "v", "NX", "PX", "1000") != "+OK" {
		time.Sleep(5 * time.Millisecond)
	}
	resource.ask("FENCEPOST", "ACQUIRED", lock, "v")
	work()
	resource.ask("FENCEPOST", "RELEASING", lock, "v")
	redis.ask("EVAL", compareAndDelete, "1", lock, "v")
	resource.ask("FENCEPOST", "RELEASED", lock, "v")
}

// hostile maps names to clients that misbehave. Each runs as client-1, and a well-behaved client runs as client-2.
var hostile = map[string]func(redis, resource *wire, lock string){
	"silent":  func(_, resource *wire, _ string) { resource.in.ReadByte() },
	"at once": func(_, _ *wire, _ string) {},
	"status 3": func(_, resource *wire, lock string) {
		fmt.Println("out of disk")
		os.Exit(3)
	},
	"no password": func(_, _ *wire, lock string) {
		w, _ := callTo("FENCEPOST_RESOURCE")
		fmt.Println(w.ask("FENCEPOST", "ACQUIRING", lock))
		os.Exit(1)
	},
	"no password, silently": func(_, resource *wire, lock string) {
		w, _ := callTo("FENCEPOST_RESOURCE")
		w.ask("FENCEPOST", "ACQUIRING", lock)
		resource.in.ReadByte()
	},
	"one of our own": func(_, resource *wire, _ string) { resource.ask("FENCEPOST", "OWN") },
	"releases first": func(_, resource *wire, lock string) { resource.ask("FENCEPOST", "RELEASING", lock, "v") },
	"no such lock":   func(_, resource *wire, lock string) { resource.ask("FENCEPOST", "ACQUIRING", lock+"s") },
	"no such word":   func(_, resource *wire, lock string) { resource.ask("FENCEPOST", "AQUIRING", lock) },
	"elsewhere":      func(redis, _ *wire, lock string) { redis.ask("FENCEPOST", "ACQUIRING", lock) },
	"reads first":    func(_, resource *wire, lock string) { resource.ask("READ", lock) },
	"acquires twice": func(_, resource *wire, lock string) {
		resource.ask("FENCEPOST", "ACQUIRING", lock)
		resource.ask("FENCEPOST", "ACQUIRING", lock)
	},
	"another": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() { resource.ask("FENCEPOST", "RELEASING", lock, "w") })
	},
	"ends inside": func(redis, resource *wire, lock string) { holds(redis, resource, lock, func() { os.Exit(0) }) },
	"ends unnoticed": func(redis, resource *wire, lock string) {
		// the run learns that client-1 has ended only when client-2 is inside its section
		holds(redis, resource, lock, func() {
			for redis.ask("GET", entered) != "1" {
				time.Sleep(5 * time.Millisecond)
			}
			os.Exit(0)
		})
	},
	"throws inside": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			fmt.Fprintln(os.Stderr, "no such table\x1b[2J: redis://:canary@host")
			os.Exit(7)
		})
	},
	"is killed inside": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	},
	"ends asking": func(_, resource *wire, lock string) { resource.ask("FENCEPOST", "ACQUIRING", lock) },
	"throws at the end": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {})
		os.Exit(1)
	},
	"ends in a command": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			fmt.Fprint(redis, "*3\r\n$3\r\nSET\r\n$4\r\nlo")
			os.Exit(1)
		})
	},
	"half": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			more := dialTo("FENCEPOST_REDIS_1")
			fmt.Fprint(more, "*3\r\n$3\r\nSET\r\n$4\r\nlo")
			more.Close()
		})
	},
	"no RESP": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			fmt.Fprint(dialTo("FENCEPOST_REDIS_1"), "\x16\x03\x01 hello")
			fmt.Fprint(dialTo("FENCEPOST_RESOURCE"), "\x00\x00")
		})
	},
	"health checks": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			for _, w := range []*wire{dialTo("FENCEPOST_REDIS_1"), dialTo("FENCEPOST_RESOURCE")} {
				fmt.Fprint(w, "PING\r\n")
				if got := w.next(); got != "+PONG\r\n" {
					fmt.Println("PING is answered", got)
					os.Exit(1)
				}
				w.ask("SYNC")
			}
		})
	},
	"long value": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			long := strings.Repeat("x", 2<<20)
			fmt.Println(resource.ask("WRITE", lock, long))
			fmt.Println(redis.ask("SET", lock, long, "XX", "KEEPTTL"))
			resource.ask("WRITE", lock, long[:mostArgument])
			redis.ask("SET", lock+"2", long[:mostArgument])
		})
	},
	"long value in a transaction": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			redis.ask("MULTI")
			redis.ask("SET", lock+"2", "half")
			redis.ask("SET", lock+"3", strings.Repeat("x", 2<<20))
			if got := redis.ask("EXEC") + redis.ask("EXISTS", lock+"2"); !strings.HasPrefix(got, "-EXECABORT") ||
				!strings.HasSuffix(got, ":0") {
				fmt.Println("EXEC is answered", got)
				os.Exit(1)
			}
		})
	},
	"grown value": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			redis.ask("SETRANGE", lock, "2000000", "x")
			redis.ask("SET", lock, strings.Repeat("\x01", mostArgument), "XX", "KEEPTTL")
			redis.ask("SET", lock, "v", "XX", "KEEPTTL")
		})
	},
	"no text": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			resource.ask("WRITE", lock, "\xff\x00")
			redis.ask("SET", lock, "\xfe\x1b", "XX", "KEEPTTL")
			redis.ask("SET", lock, "v", "XX", "KEEPTTL")
		})
	},
	"password again": func(redis, resource *wire, lock string) {
		_, password := callTo("FENCEPOST_REDIS_1")
		holds(redis, resource, lock, func() {
			for _, w := range []*wire{redis, resource} {
				fmt.Fprintf(w, "PING\r\nAUTH %s\r\nPING\r\nAUTH guess\r\nPING\r\n", password)
				for _, want := range []string{"+PONG", "+OK", "+PONG", "-WRONGPASS", "+PONG"} {
					if got := w.next(); !strings.HasPrefix(got, want) {
						fmt.Printf("%q, not %s\n", got, want)
						os.Exit(1)
					}
				}
			}
		})
	},
	"refused": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			redis.ask("CONFIG", "SET", "maxmemory", "1")
			redis.ask("DEBUG", "SLEEP", "1")
			redis.ask("DEBUG", "SLEEP", "2")
			redis.ask("EVALSHA", strings.Repeat("0", 40), "0")
			redis.ask("CLIENT", "SETINFO", "no", "such")
			resource.ask("GET", lock)
		})
	},
	"prints much": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() { fmt.Print(strings.Repeat("0123456789abcde\n", 1<<16)) })
	},
	"floods": func(redis, resource *wire, lock string) {
		holds(redis, resource, lock, func() {
			go resource.in.WriteTo(nowhere{})
			for {
				if _, err := fmt.Fprintf(resource, "*2\r\n$4\r\nREAD\r\n$%d\r\n%s\r\n", len(lock), lock); err != nil {
					os.Exit(0)
				}
			}
		})
	},
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// The possible outcomes of a run with a hostile client.
const (
	nothing = "nothing ran" // an error before the scenario began
	early   = "early end"   // the run ends, and what has happened is kept
	crashed = "crash"       // the client counts as crashed, and the run goes on
	goesOn  = "goes on"
)

// TestHostileClients checks that the error or the report names each hostile client and what it did. If the run had
// begun, its history must be kept, and the other client must complete all its sections, unless the run must end early.
func TestHostileClients(t *testing.T) {
	tried := map[string]bool{}
	for i, test := range []struct{ how, comes, want string }{
		{"silent", nothing, "client-1 has not reported FENCEPOST ACQUIRING lock within 3s"},
		{"at once", nothing, "client-1 ended before its first report, which is FENCEPOST ACQUIRING lock"},
		{"status 3", nothing, "client-1 ended with exit status 3 before its first report, which is FENCEPOST " +
			"ACQUIRING lock\nit printed:\nout of disk"},
		{"no password", nothing, "client-1 ended with exit status 1 before its first report, which is FENCEPOST " +
			"ACQUIRING lock (connections to its ports were refused: 1; they did not give the password of the URLs in " +
			"its environment: give the client's library the whole URL)\nit printed:\n-NOAUTH"},
		{"no password, silently", nothing, "within 3s of its start (connections to its ports were refused: "},
		{"one of our own", nothing, "unknown report: FENCEPOST OWN"},
		{"releases first", nothing, "FENCEPOST RELEASING lock comes before any FENCEPOST ACQUIRING lock"},
		{"no such lock", nothing, `locks is not one of the client's locks, which are ["lock"] (FENCEPOST_LOCK_1 and so on)`},
		{"no such word", nothing, "unknown report: FENCEPOST AQUIRING (did you mean ACQUIRING?)"},
		{"elsewhere", nothing, "reports to redis-1: reports go to FENCEPOST_RESOURCE"},
		{"reads first", nothing, "it uses the resource of lock but has not reported ACQUIRED"},
		{"acquires twice", early, "FENCEPOST ACQUIRING lock comes after ACQUIRING: it may follow RELEASED. " +
			"Does its library repeat a request that is not answered promptly?"},
		{"another", early, "FENCEPOST RELEASING lock w names a lock that it does not hold: it has acquired lock as v"},
		{"floods", early, "floods the resource: it sends commands without waiting for the replies"},
		{"ends inside", crashed, "client-1 ended before it reported FENCEPOST RELEASED lock, so it counts as " +
			"crashed"},
		{"ends unnoticed", crashed,
			"client-1 ended before it reported FENCEPOST RELEASED lock, so it counts as crashed"},
		{"throws inside", crashed, "client-1 ended with exit status 7 before it reported FENCEPOST RELEASED"},
		{"is killed inside", crashed, "client-1 was ended by signal 9 (killed) before it reported FENCEPOST RELEASED"},
		{"ends asking", crashed, "client-1 ended before it reported FENCEPOST ACQUIRED lock or FENCEPOST FAILED " +
			"lock, so it counts as crashed"},
		{"throws at the end", crashed, "client-1 ended with exit status 1, so it counts as crashed"},
		{"ends in a command", crashed, "client-1 ended with exit status 1 before it reported"},
		{"half", goesOn, ""},
		{"no RESP", goesOn, `client-1 sent redis-1 bytes that are not a command: "\x16\x03\x01 hello"; that ` +
			`connection was closed`},
		{"health checks", goesOn, "redis-1 refused SYNC of client-1: ERR fencepost: SYNC is not simulated"},
		{"long value", goesOn, "resource refused WRITE of client-1: ERR fencepost: argument 2 of WRITE has " +
			"2097152 bytes, but a run accepts at most 65536"},
		{"long value in a transaction", goesOn, "redis-1 refused SET of client-1: "},
		{"grown value", goesOn, ""},
		{"no text", goesOn, ""},
		{"password again", goesOn, ""},
		{"refused", goesOn, "redis-1 refused DEBUG of client-1: "},
		{"prints much", goesOn, "client-1 printed last: "},
	} {
		tried[test.how] = true
		t.Run(test.how, func(t *testing.T) {
			if i%4 > 0 {
				testkit.FullOnly(t)
			}
			t.Parallel()
			r, err := run(t, scenario(t, "set-nx-px", "limit: 8s", "work: {cycles: 2}"), test.how)
			if test.comes == nothing {
				if err == nil || !strings.HasPrefix(err.Error(), "client-1 ") ||
					!strings.Contains(err.Error(), test.want) {
					t.Errorf("%v, want %s", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(r.Notes, "\n")
			if !strings.Contains(notes, test.want) {
				t.Errorf("%s\nwant %s", notes, test.want)
			}
			if r.Partial != (test.comes != goesOn) || strings.HasPrefix(notes, "the run ended early: client-1 ") !=
				(test.comes == early) {
				t.Errorf("partial: %t\n%s", r.Partial, notes)
			}
			kept(t, test.how, test.comes, r)
		})
	}
	for how := range hostile {
		if !tried[how] {
			t.Errorf("%s is not tried", how)
		}
	}
}

// kept checks the history of a run with a hostile client.
func kept(t *testing.T, how, comes string, r *Result) {
	t.Helper()
	var text bytes.Buffer
	if err := history.Encode(&text, r.History); err != nil {
		t.Error(err)
	}
	sections, crashes := 0, 0
	for _, e := range r.History.Events {
		switch {
		case e.Process == "client-2" && e.F == history.Release && e.Type == history.OK:
			sections++
		case e.Process == "client-1" && e.F == history.Crashed:
			crashes++
		}
	}
	if comes != early && sections != 2 {
		t.Errorf("the other client has %d sections", sections)
	}
	if (crashes == 1) != (comes == crashed) {
		t.Errorf("%d crashes", crashes)
	}
	switch broken := how == "grown value" || how == "no text"; {
	case broken: // the client removes its own key
	default:
		for _, f := range checker.Check(r.History).Findings {
			if f.Outcome == checker.Violated {
				t.Errorf("%s is violated: %s", f.Law, f.Explanation)
			}
			if f.Law == checker.MutualExclusion && how == "ends unnoticed" && (f.Outcome != checker.Undecided ||
				!strings.HasPrefix(f.Explanation, "The end of client-1 was noticed at ")) {
				t.Errorf("%s: %v: %s", f.Law, f.Outcome, f.Explanation)
			}
		}
	}
	said := ""
	for _, p := range r.Printed {
		if p.Client == "client-1" {
			said = p.Text
		}
	}
	switch how {
	case "throws inside":
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "client-1 printed last: no such table [2J: "+
			"redis://…@host") || said != "no such table\x1b[2J: redis://…@host\n" {
			t.Errorf("printed is %q\n%s", said, notes)
		}
	case "prints much":
		if !strings.HasPrefix(said, fmt.Sprintf("(the first %d bytes are omitted)\n", 1<<20-mostKept)) {
			t.Errorf("printed is %.60q", said)
		}
	case "long value":
		if strings.Count(said, "at most") != 2 {
			t.Errorf("the client was answered %q", said)
		}
	case "refused":
		notes := strings.Join(r.Notes, "\n")
		for _, want := range []string{"redis-1 refused CONFIG of client-1: ", "resource refused GET of client-1: "} {
			if !strings.Contains(notes, want) {
				t.Errorf("%s\nwant %s", notes, want)
			}
		}
		if !strings.Contains(notes, "(2 times)") || strings.Contains(notes, "EVALSHA") ||
			strings.Contains(notes, "CLIENT") {
			t.Error(notes)
		}
	}
}

// TestAnEndThatIsNobodysFaultKeepsTheHistory checks that a run whose servers fail returns both its history and an
// error.
func TestAnEndThatIsNobodysFaultKeepsTheHistory(t *testing.T) {
	r, err := runOn(t, scenario(t, "set-nx-px"), "works", failing{})
	if err == nil || err.Error() != "redis-1 is gone" || r == nil || len(r.History.Events) == 0 {
		t.Errorf("%v %v", r, err)
	}
}

// failing is a Fleet whose End method fails.
type failing struct{ Simulated }

func (failing) End() error { return errors.New("redis-1 is gone") }
