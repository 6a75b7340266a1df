package advise

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Each edit changes the text the way a person would.
func TestTextChangesOnlyWhatIsMeant(t *testing.T) {
	const before = `name: mine # the one in production
servers: {redis: 5, persistence: {append-fsync: everysec}} # three would do

# The lock.
lock:
  protocol: redlock
  ttl: 10s   # as agreed
  retry: {delay: 50ms..250ms}
  # end of the lock

work: {hold: 1s}
faults:
  - pause client-1 for 15s after acquired   # GC
  # and then
  - "crash redis-3 losing everything at 1s, restart after 2s"
  - cut client-1 | redis-4 at 0s for 30s
expect: {ownership: holds}
`
	for _, c := range []struct {
		name     string
		edits    []edit
		from, to string
	}{
		{"a value", []edit{{Path: "lock.ttl", Value: "30s"}}, "ttl: 10s   #", "ttl: 30s   #"},
		{"a longer value", []edit{{Path: "lock.ttl", Value: "1s500ms"}}, "ttl: 10s   #", "ttl: 1s500ms #"},
		{"a value in braces", []edit{{Path: "servers.redis", Value: "7"}}, "{redis: 5,", "{redis: 7,"},
		{"deep in braces", []edit{{Path: "servers.persistence.append-fsync", Value: "always"}}, "everysec", "always"},
		{"a key at the end of a mapping", []edit{{Path: "lock.quorum", Value: "4"}}, "250ms}\n",
			"250ms}\n  quorum: 4\n"},
		{"a mapping in a mapping", []edit{{Path: "lock.extension.in", Value: "steps"}}, "250ms}\n",
			"250ms}\n  extension: {in: steps}\n"},
		{"a key at the end of braces", []edit{{Path: "work.writes", Value: "2"}}, "{hold: 1s}",
			"{hold: 1s, writes: 2}"},
		{"a key at the top, where it belongs", []edit{{Path: "resource.fencing", Value: "on"}}, "faults:\n",
			"resource: {fencing: on}\nfaults:\n"},
		{"a mapping becomes a word", []edit{{Path: "servers.persistence", Value: "none"}}, "{append-fsync: everysec}",
			"none"},
		{"out of braces", []edit{{Path: "servers.persistence", Remove: true}},
			", persistence: {append-fsync: everysec}}", "}"},
		{"the first out of braces", []edit{{Path: "servers.redis", Remove: true}}, "{redis: 5, persistence",
			"{persistence"},
		{"the last one", []edit{{Path: "work.hold", Remove: true}}, "work: {hold: 1s}\n", ""},
		{"a line", []edit{{Path: "lock.ttl", Remove: true}}, "  ttl: 10s   # as agreed\n", ""},
		{"what is not there", []edit{{Path: "resource.fencing", Remove: true}}, "", ""},
		{"an item", []edit{{Path: "faults.1", Value: "pause client-2 for 3s at 1s"}},
			"pause client-1 for 15s after acquired   #", "pause client-2 for 3s at 1s             #"},
		{"an item in quotes", []edit{{Path: "faults.2", Value: "crash redis-1 losing everything at 1s"}},
			`"crash redis-3 losing everything at 1s, restart after 2s"`, "crash redis-1 losing everything at 1s"},
		{"no item", []edit{{Path: "faults.3", Remove: true}}, "  - cut client-1 | redis-4 at 0s for 30s\n", ""},
		{"several", []edit{{Path: "lock.ttl", Value: "30s"}, {Path: "lock.ttl", Value: "40s"}}, "ttl: 10s   #",
			"ttl: 40s   #"},
	} {
		want := strings.Replace(before, c.from, c.to, 1)
		got, err := rewritten([]byte(before), c.edits)
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, want)
		}
		crlf, err := rewritten([]byte(strings.ReplaceAll(before, "\n", "\r\n")), c.edits)
		if err != nil || string(crlf) != strings.ReplaceAll(want, "\n", "\r\n") {
			t.Errorf("%s, with CRLF: %v\n%q", c.name, err, crlf)
		}
	}
}

// Text in block style keeps its comments, empty lines and block scalars, even around a removed key.
func TestTextKeepsWhatStandsAround(t *testing.T) {
	const before = `# Written in June.
name: mine
summary: >
  Some prose
  over lines.

servers:
    redis: 1   # one

    persistence:   # on disk
        append-fsync: no
# about the lock
lock:
    # as in production
    protocol: set-nx-px
    ttl:  5s
# the end
`
	for _, c := range []struct {
		edit     edit
		from, to string
	}{
		{edit{Path: "lock.ttl", Value: "9s"}, "ttl:  5s", "ttl: 9s"},
		{edit{Path: "lock.retry.delay", Value: "1s"}, "5s\n", "5s\n    retry: {delay: 1s}\n"},
		{edit{Path: "lock.protocol", Remove: true}, "    protocol: set-nx-px\n", ""},
		{edit{Path: "lock", Remove: true},
			"lock:\n    # as in production\n    protocol: set-nx-px\n    ttl:  5s\n", ""},
		{edit{Path: "summary", Value: "short"}, ">\n  Some prose\n  over lines.\n", "short"},
		{edit{Path: "servers.persistence", Value: "none"}, ":   # on disk\n        append-fsync: no",
			": none # on disk"},
		{edit{Path: "servers.persistence.append-fsync", Remove: true},
			"    persistence:   # on disk\n        append-fsync: no\n", ""},
		{edit{Path: "clients", Value: "3"}, "# about the lock", "clients: 3\n# about the lock"},
	} {
		got, err := rewritten([]byte(before), []edit{c.edit})
		if want := strings.Replace(before, c.from, c.to, 1); err != nil || string(got) != want {
			t.Errorf("%+v: %v\n%s\nwant\n%s", c.edit, err, got, want)
		}
	}
}

// An edit that would lose a comment returns an error.
func TestTextRefusesWhatItCannotKeep(t *testing.T) {
	const before = "name: mine\nlock: {ttl: 1s, # short\n  protocol: redlock}\n"
	if got, err := rewritten([]byte(before), []edit{{Path: "name", Value: "other"}}); !errors.Is(err, errStyle) {
		t.Errorf("%v\n%s", err, got)
	}
}

// The keys of every scenario in the catalog are removed, changed and set again. After each edit, the text must be the
// same as that of a Document with the same edits (see rewritten).
func TestTextDoesWhatADocumentDoes(t *testing.T) {
	testkit.ThoroughOnly(t)
	for i, name := range scenarios.Names() {
		if i%testkit.Size(60, 20, 1) > 0 {
			continue
		}
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := format.ParseDocument(name, s.Text())
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths(d, "") {
			for _, e := range []edit{{Path: path, Remove: true}, {Path: path, Value: "another value"},
				{Path: path + "-new", Value: "1"},
				{Path: "resource." + strings.ReplaceAll(path, ".", "-"), Value: "a: b"}} {
				text, err := rewritten(s.Text(), []edit{e})
				if err != nil || comments(string(text)) < comments(string(s.Text())) {
					t.Errorf("%s, %+v: %v\n%s", name, e, err, text)
				}
			}
		}
	}
}

// paths returns the paths of all keys and list entries below a path.
func paths(d *format.Document, under string) (list []string) {
	keys := d.Keys(under)
	for _, key := range keys {
		if strings.Contains(key, ".") { // a path cannot contain such a key
			continue
		}
		path := strings.TrimPrefix(under+"."+key, ".")
		list = append(append(list, path), paths(d, path)...)
	}
	return list
}
