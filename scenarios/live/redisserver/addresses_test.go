package redisserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// ports is a Book that contains a server, another server with a name that begins with the first one's, and a server
// known by its IP address.
var ports = NewBook(map[Address]Address{
	{"redis-1", "6379"}:           {"127.0.0.1", "4001"},
	{"redis-1-replica-1", "6379"}: {"127.0.0.1", "4002"},
	{"10.0.0.1", "700"}:           {"redis-9", "6379"},
})

// write encodes words as a map, a list, a push or a string, in RESP2 or, if three is set, in RESP3.
func write(kind byte, three bool, words ...string) string {
	w := resp.Writer{RESP3: three}
	switch kind {
	case '%':
		w.ReplyMap(len(words) / 2)
	case '>':
		w.ReplyPush(len(words))
	case '=':
		w.ReplyText(words[0])
		return string(w.Out)
	default:
		w.ReplyLen(len(words))
	}
	for _, word := range words {
		if n, isInt := strings.CutPrefix(word, ":"); isInt {
			w.Out = append(w.Out, ":"+n+"\r\n"...)
		} else {
			w.ReplyBulk(word)
		}
	}
	return string(w.Out)
}

// said lists all messages in which Redis 7.0.15 and its Sentinel name servers. Each is given before and after the
// replacement.
var said = []struct {
	what          string
	kind          byte
	before, after []string
}{
	{"SENTINEL GET-MASTER-ADDR-BY-NAME", '*', []string{"redis-1", "6379"}, []string{"127.0.0.1", "4001"}},
	{"SENTINEL MASTER", '%', []string{"name", "redis-1", "ip", "redis-1", "port", "6379", "quorum", "1"},
		[]string{"name", "redis-1", "ip", "127.0.0.1", "port", "4001", "quorum", "1"}},
	{"SENTINEL REPLICAS", '%', []string{"name", "redis-1-replica-1:6379", "ip", "redis-1-replica-1", "port", "6379",
		"flags", "slave", "master-host", "redis-1", "master-port", "6379"},
		[]string{"name", "127.0.0.1:4002", "ip", "127.0.0.1", "port", "4002", "flags", "slave",
			"master-host", "127.0.0.1", "master-port", "4001"}},
	{"INFO of a Sentinel", '=',
		[]string{"# Sentinel\r\nmaster0:name=redis-1,status=ok,address=redis-1:6379,slaves=1\r\n"},
		[]string{"# Sentinel\r\nmaster0:name=redis-1,status=ok,address=127.0.0.1:4001,slaves=1\r\n"}},
	{"+switch-master", '>', []string{"message", "+switch-master", "redis-1 redis-1 6379 redis-1-replica-1 6379"},
		[]string{"message", "+switch-master", "redis-1 127.0.0.1 4001 127.0.0.1 4002"}},
	{"+slave", '>', []string{"pmessage", "*", "+slave",
		"slave redis-1-replica-1:6379 redis-1-replica-1 6379 @ redis-1 redis-1 6379"},
		[]string{"pmessage", "*", "+slave", "slave 127.0.0.1:4002 127.0.0.1 4002 @ redis-1 127.0.0.1 4001"}},
	{"+odown", '>', []string{"message", "+odown", "master redis-1 redis-1 6379 #quorum 1/1"},
		[]string{"message", "+odown", "master redis-1 127.0.0.1 4001 #quorum 1/1"}},
	{"+selected-slave of a group that ends in a number", '>', []string{"message", "+selected-slave",
		"slave 10.0.0.1:700 10.0.0.1 700 @ group 7 10.0.0.1 700"},
		[]string{"message", "+selected-slave", "slave redis-9:6379 redis-9 6379 @ group 7 redis-9 6379"}},
	{"ROLE of a replica", '*', []string{"slave", "redis-1", ":6379", "connected", ":17"},
		[]string{"slave", "127.0.0.1", ":4001", "connected", ":17"}},
	{"a replica in ROLE of a master", '*', []string{"redis-1-replica-1", "6379", "17"},
		[]string{"127.0.0.1", "4002", "17"}},
	{"INFO of a replica", '=', []string{"role:slave\r\nmaster_host:redis-1\r\nmaster_port:6379\r\nslave0:x=1\r\n"},
		[]string{"role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:4001\r\nslave0:x=1\r\n"}},
	{"INFO of a master", '=', []string{"slave0:ip=redis-1-replica-1,port=6379,state=online\r\n"},
		[]string{"slave0:ip=127.0.0.1,port=4002,state=online\r\n"}},
	{"CONFIG GET replicaof", '%', []string{"replicaof", "redis-1 6379"}, []string{"replicaof", "127.0.0.1 4001"}},
	{"a member in CLUSTER SLOTS", '*', []string{"redis-1", ":6379", "1f"}, []string{"127.0.0.1", ":4001", "1f"}},
	{"members in CLUSTER NODES", '=', []string{"1f redis-1:6379@16379,redis-1 master - 0 0 1 connected 0-5460\n"},
		[]string{"1f 127.0.0.1:4001@16379,redis-1 master - 0 0 1 connected 0-5460\n"}},
	{"a member in CLUSTER SHARDS", '*', []string{"id", "1f", "port", ":6379", "ip", "redis-1", "endpoint", "redis-1"},
		[]string{"id", "1f", "port", ":4001", "ip", "127.0.0.1", "endpoint", "127.0.0.1"}},
	// replies that do not name a server in the Book
	{"a port alone", '*', []string{"redis", "port"}, []string{"redis", "port"}},
	{"ROLE of a Sentinel", '*', []string{"sentinel", "redis-1"}, []string{"sentinel", "redis-1"}},
	{"another port", '*', []string{"redis-1", "63790", "redis-1:63790"}, []string{"redis-1", "63790", "redis-1:63790"}},
	{"longer names", '*', []string{"redis-1-replica-12", "6379", "a-redis-1:6379", "110.0.0.1:700", "10a0.0.1:700"},
		[]string{"redis-1-replica-12", "6379", "a-redis-1:6379", "110.0.0.1:700", "10a0.0.1:700"}},
	{"nothing", '%', nil, nil},
}

// TestEveryAddressIsReplaced checks that all addresses in Redis's messages are replaced, and that nothing else is. It
// uses RESP2 and RESP3, messages nested in a list, and messages that arrive in pieces of any size.
func TestEveryAddressIsReplaced(t *testing.T) {
	for _, three := range []bool{false, true} {
		for _, s := range said {
			before, after := write(s.kind, three, s.before...), write(s.kind, three, s.after...)
			if got := string(ports.Translate([]byte(before))); got != after {
				t.Errorf("%s: %q, want %q", s.what, got, after)
			}
			if got := string(ports.Translate([]byte("*2\r\n:0\r\n" + before))); got != "*2\r\n:0\r\n"+after {
				t.Errorf("%s in a list: %q", s.what, got)
			}
			for size := 1; size <= len(before); size++ {
				stream, got := Stream{Book: ports}, ""
				for rest := before + before; rest != ""; rest = rest[min(size, len(rest)):] {
					got += string(stream.Translate([]byte(rest[:min(size, len(rest))])))
				}
				if got != after+after {
					t.Fatalf("%s, %d bytes at a time: %q", s.what, size, got)
				}
			}
		}
	}
}

// TestErrorsAndNothingStayAsTheyAre checks that errors and empty values are not changed. Without a Book, nothing is.
func TestErrorsAndNothingStayAsTheyAre(t *testing.T) {
	for _, text := range []string{"", "-ERR redis-1:6379 is none\r\n", "*-1\r\n", "$-1\r\n", "_\r\n", "+QUEUED\r\n"} {
		if got := string(ports.Translate([]byte(text))); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	const address = "+redis-1:6379\r\n"
	var none Stream
	if got := string((*Book)(nil).Translate([]byte(address))) + string(none.Translate([]byte(address))); got != address+
		address {
		t.Errorf("without a book %q", got)
	}
}

// TestRedirectionsNameAnotherPort checks that redirections name the ports that the client can reach. A Redis Cluster
// may answer any command with a redirection.
func TestRedirectionsNameAnotherPort(t *testing.T) {
	for text, want := range map[string]string{
		"-MOVED 866 redis-1:6379\r\n":         "-MOVED 866 127.0.0.1:4001\r\n",
		"-ASK 866 redis-1-replica-1:6379\r\n": "-ASK 866 127.0.0.1:4002\r\n",
	} {
		if got := string(ports.Translate([]byte(text))); got != want || !Redirects([]byte(text)) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if Redirects([]byte("-ERR redis-1:6379 is none\r\n")) || Redirects([]byte("+MOVED 866 redis-1:6379\r\n")) {
		t.Error("another reply is taken for a redirection")
	}
}

// TestWhatTellsAddresses checks NamesServers with commands in upper and lower case.
func TestWhatTellsAddresses(t *testing.T) {
	for command, want := range map[string]bool{"ROLE": true, "info replication": true, "Config GET *": true,
		"cluster SLOTS": true, "GET role": false, "CLIENT LIST": false, "": false} {
		if got := NamesServers(strings.Fields(command)); got != want {
			t.Error(fmt.Sprint(command, " names servers: ", got))
		}
	}
}
