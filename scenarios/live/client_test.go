//go:build linux

package live

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// mode is the environment variable that makes the test binary act as a client. Its value selects which one.
const mode = "FENCEPOST_TEST_CLIENT"

// inherited is an environment variable of this process that all clients must inherit.
const inherited = "FENCEPOST_TEST_INHERITED"

func TestMain(m *testing.M) {
	process.Main()
	switch how := os.Getenv(mode); how {
	case "":
		os.Setenv(inherited, "yes")
		flag.Set("test.parallel", "6") // runs in real time spend most of their time waiting
		os.Exit(m.Run())
	case "own":
		if err := Child(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	default:
		beClient(how)
	}
}

// wire is a connection to one server.
type wire struct {
	net.Conn
	in *bufio.Reader
}

func dialTo(variable string) *wire {
	w, password := callTo(variable)
	if got := w.ask("AUTH", password); got != "+OK" {
		fmt.Println("the password of", variable, "is refused:", got)
		os.Exit(1)
	}
	return w
}

// callTo opens a connection to a server, without giving the password.
func callTo(variable string) (w *wire, password string) {
	u, err := url.Parse(os.Getenv(variable))
	var c net.Conn
	if err == nil {
		c, err = net.Dial("tcp", u.Host)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	password, _ = u.User.Password()
	return &wire{c, bufio.NewReader(c)}, password
}

// ask sends a command and returns the reply: the contents of a string, or the first line of any other reply.
func (w *wire) ask(args ...string) string {
	fmt.Fprintf(w, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(w, "$%d\r\n%s\r\n", len(a), a)
	}
	line, err := w.in.ReadString('\n')
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if line = strings.TrimSpace(line); line[0] == '$' && line != "$-1" {
		line, _ = w.in.ReadString('\n')
		line = strings.TrimSpace(line)
	}
	return line
}

const compareAndDelete = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`

// thinks is how long a client waits between two sections.
const thinks = 200 * time.Millisecond

// beClient is a client that a user might have written. It uses SET NX PX on one Redis server. The argument selects what
// the client does wrong.
func beClient(how string) {
	switch how {
	case "queues":
		queues(dialTo("FENCEPOST_RESOURCE"))
		return
	case "puts one key":
		putsOneKey(dialTo("FENCEPOST_RESOURCE"))
		return
	}
	redis, resource := dialTo("FENCEPOST_REDIS_1"), dialTo("FENCEPOST_RESOURCE")
	lock, ttl := os.Getenv("FENCEPOST_LOCK"), os.Getenv("FENCEPOST_TTL_MS")
	cycles, _ := strconv.Atoi(os.Getenv("FENCEPOST_CYCLES"))
	switch how {
	case "follows":
		follows(redis, resource, lock)
		return
	case "prolongs", "prolongs in silence":
		prolongs(redis, resource, lock, how == "prolongs")
		return
	case "all", "crosswise":
		takesAll(redis, resource, how == "crosswise")
		return
	}
	if hostile[how] != nil && os.Getenv("FENCEPOST_CLIENT") == "client-1" {
		hostile[how](redis, resource, lock)
		return
	}
	for i := range cycles {
		if i > 0 {
			time.Sleep(thinks)
		}
		value := fmt.Sprint(os.Getpid(), ".", i)
		if how == "careless" {
			value = "me"
		}
		resource.ask("FENCEPOST", "ACQUIRING", lock)
		for redis.ask("SET", lock, value, "NX", "PX", ttl) != "+OK" {
			time.Sleep(5 * time.Millisecond)
		}
		report := []string{"FENCEPOST", "ACQUIRED", lock, value}
		var token []string
		if how == "fenced" {
			token = []string{"TOKEN", redis.ask("INCR", lock+":fence")[1:]}
		}
		resource.ask(append(report, token...)...)
		if how == "works" || how == "fenced" {
			n, _ := strconv.Atoi(resource.ask(append([]string{"READ", lock}, token...)...))
			resource.ask(append([]string{"WRITE", lock, strconv.Itoa(n + 1)}, token...)...)
		}
		if how == "ends unnoticed" {
			redis.ask("SET", entered, "1")
		}
		resource.ask("FENCEPOST", "RELEASING", lock, value)
		done := []string{"FENCEPOST", "RELEASED", lock, value}
		if how == "careless" {
			redis.ask("DEL", lock)
		} else if redis.ask("EVAL", compareAndDelete, "1", lock, value) != ":1" {
			done = append(done, "REFUSED")
		}
		resource.ask(done...)
	}
}

// entered is a key that client-2 sets inside its section. client-1 waits for this key inside its own section.
const entered = "entered"

// prolongs extends the client's lock as often as it can while the client is working, and writes at the end. It stops
// extending if a reply takes too long. If reports is set, it reports its extensions.
func prolongs(redis, resource *wire, lock string, reports bool) {
	say := func(words ...string) {
		if reports {
			resource.ask(append([]string{"FENCEPOST"}, words...)...)
		}
	}
	holds(redis, resource, lock, func() {
		for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			say("EXTENDING", lock, "v")
			fmt.Fprintf(redis, "*3\r\n$7\r\nPEXPIRE\r\n$%d\r\n%s\r\n$4\r\n1000\r\n", len(lock), lock)
			redis.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			if _, err := redis.in.ReadString('\n'); err != nil {
				say("EXTEND-FAILED", lock, "v", "UNKNOWN")
				time.Sleep(time.Until(end))
				redis = dialTo("FENCEPOST_REDIS_1")
				break
			}
			say("EXTENDED", lock, "v")
		}
		resource.ask("READ", lock)
		resource.ask("WRITE", lock, os.Getenv("FENCEPOST_CLIENT"))
	})
}
