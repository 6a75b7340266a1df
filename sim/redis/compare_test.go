package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// compares contains, for each version, commands that compare a value before setting or deleting a key. Each command is
// followed by the expected reply.
var compares = map[Version]string{
	Tair: `
CAD lock a -> -1
CAS lock a b -> -1
SET lock a PX 10000 -> OK
CAD lock b -> 0
CAS lock b c EX 5 -> 0
CAS lock a b PX 20000 -> 1
PTTL lock -> 20000
CAS lock b c KEEPTTL -> 1
PTTL lock -> 20000
CAS lock c d -> 1
PTTL lock -> -1
CAS lock d e EX 0 -> -ERR syntax error
CAS lock d e NX -> -ERR syntax error
CAS lock d e EX -> -ERR syntax error
CAS lock d e IFEQ d -> -ERR syntax error
CAS lock d -> -ERR wrong number of arguments for 'cas' command
CAD lock d -> 1
RPUSH list x -> 1
CAD list x -> -WRONGTYPE Operation against a key holding the wrong kind of value
CAS list x y -> -WRONGTYPE Operation against a key holding the wrong kind of value
DELEX lock IFEQ a -> -ERR unknown command 'DELEX', with args beginning with: 'lock' 'IFEQ' 'a' 
SET lock a IFNE b -> -ERR syntax error
`,
	Redis8: `
DELEX lock IFEQ a -> 0
SET lock a IFEQ a -> null
SET lock a IFNE b PX 1000 -> OK
SET lock b IFEQ a PX 30000 -> OK
PTTL lock -> 30000
SET lock c IFEQ a -> null
SET lock c IFEQ a GET -> b
SET lock c IFNE b -> null
SET lock c IFEQ b NX -> -ERR syntax error
SET lock c IFEQ -> -ERR syntax error
SET lock c IFEQ b KEEPTTL GET -> b
PTTL lock -> 30000
DELEX lock IFEQ a -> 0
DELEX lock IFNE c -> 0
DELEX lock IFEQ -> -ERR wrong number of arguments for 'delex' command
DELEX lock FOO c -> -ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE
DELEX lock IFEQ c -> 1
SET lock c -> OK
DELEX lock IFNE a -> 1
SET lock c -> OK
DELEX lock -> 1
RPUSH list x -> 1
SET list y IFEQ x -> -WRONGTYPE Operation against a key holding the wrong kind of value
DELEX list IFEQ x -> -ERR Key should be of string type if conditions are specified
DELEX list -> 1
CAD lock a -> -ERR unknown command 'CAD', with args beginning with: 'lock' 'a' 
CLIENT NO-TOUCH ON -> OK
CLIENT NO-TOUCH x -> -ERR syntax error
HSETEX h FXX EX 10 FIELDS 1 a 1 -> 0
HSETEX h FNX EX 10 FIELDS 2 a 1 b 2 -> 1
HSETEX h FNX PX 10 FIELDS 1 a 3 -> 0
HTTL h FIELDS 3 a b c -> [10 10 -2]
HEXPIRETIME h FIELDS 1 a -> [1704067210]
HPEXPIRETIME h FIELDS 1 a -> [1704067210000]
HSETEX h KEEPTTL FIELDS 1 a 4 -> 1
HPTTL h FIELDS 1 a -> [10000]
HSETEX h FIELDS 1 a 5 -> 1
HTTL h FIELDS 1 a -> [-1]
HGETEX h PX 3000 FIELDS 2 a c -> [5 null]
HPTTL h FIELDS 2 a b -> [3000 10000]
HGETEX h PERSIST FIELDS 1 a -> [5]
HTTL h FIELDS 1 a -> [-1]
HEXPIRE h 100 XX FIELDS 2 a b -> [0 1]
HPEXPIRE h 200 NX FIELDS 2 a b -> [1 0]
HEXPIREAT h 1704067300 GT FIELDS 2 a b -> [1 0]
HPEXPIREAT h 1704067299000 LT FIELDS 2 a b -> [1 1]
HPERSIST h FIELDS 3 a b c -> [1 1 -2]
HPERSIST h FIELDS 1 a -> [-1]
HGETDEL h FIELDS 2 a c -> [5 null]
HEXISTS h a -> 0
HEXPIRE h 0 FIELDS 1 b -> [2]
EXISTS h -> 0
HEXPIRE h 10 FIELDS 1 b -> [-2]
HSETEX h EX 0 FIELDS 1 a 1 -> 1
EXISTS h -> 0
HGETEX h PX 3000 FIELDS 1 a -> [null]
HGETDEL h FIELDS 1 a -> [null]
HSETEX h FNX FXX FIELDS 1 a 1 -> -ERR Only one of FXX or FNX arguments can be specified
HSETEX h EX 1 KEEPTTL FIELDS 1 a 1 -> -ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h EX -1 FIELDS 1 a 1 -> -ERR invalid expire time, must be >= 0
HSETEX h NX FIELDS 1 a 1 -> -ERR unknown argument: NX
HSETEX h FIELDS 2 a 1 -> -ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS x a 1 -> -ERR invalid number of fields
HGETEX h FOO FIELDS 1 a -> -ERR Mandatory argument FIELDS is missing or not at the right position
HGETDEL h FIELDS 0 a -> -ERR Number of fields must be a positive integer
RPUSH list x -> 1
HSETEX list FIELDS 1 a 1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
`}

func TestCommandsThatCompareBeforeTheyAct(t *testing.T) {
	for version, lines := range compares {
		m := newMachine(Config{Version: version, Persistence: store.Everysec})
		for _, line := range strings.Split(strings.Trim(lines, "\n"), "\n") {
			command, reply, _ := strings.Cut(line, " -> ")
			check(t, version.String()+": "+command, m.do("client-1/1", command), reply)
		}
	}
}

func TestReleaseAndRenewalByComparingAreTheOwners(t *testing.T) {
	for release, report := range map[string]string{
		"CAD lock a":                   "key-gone lock of client-1/1 by client-1/1: deleted",
		"DELEX lock IFEQ a":            "key-gone lock of client-1/1 by client-1/1: deleted",
		"CAS lock a a PX 9000":         "key-set lock of client-1/1 by client-1/1 = a until 9.0006 s",
		"SET lock a IFEQ a PX 9000":    "key-set lock of client-1/1 by client-1/1 = a until 9.0006 s",
		"CAD lock b":                   "",
		"DELEX lock IFEQ b":            "",
		"SET lock b IFEQ b PXAT 90000": "",
	} {
		version := Redis8
		if release[:2] == "CA" {
			version = Tair
		}
		m := newMachine(Config{Version: version, Persistence: store.Everysec})
		m.do("client-1/1", "SET lock a NX PX 8000")
		m.story()
		m.do("client-1/1", release)
		_, line, _ := strings.Cut(strings.TrimSuffix(m.story(), "\n"), " s ")
		check(t, release, line, report)
	}
	m := newMachine(Config{Version: Tair, Persistence: store.Everysec})
	m.do("client-1/1", "SET lock a NX PX 8000")
	m.do("client-1/1", "CAS lock a b EX 9")
	m.do("client-1/1", "CAD lock b")
	check(t, "the log", strings.Join(m.node.Log(), "; "),
		"SET lock a PXAT "+epochPlus(8*time.Second)+"; SET lock b PXAT "+epochPlus(9*time.Second)+"; DEL lock")
}
