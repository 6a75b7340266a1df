package scenarios

// This file generates starter files, the scenario files that users start with. There is one for each protocol, and one
// for each kind of lock that is a protocol with certain settings. A starter file contains all of the lock's settings
// with their defaults, commented out. Run unchanged, it shows what a pause does to the lock. To change a setting, the
// user removes the # in front of it.

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// Default is the starter file's protocol if the user specifies no lock. It is the most common lock on Redis.
const Default = locks.SetNXPX

// width is the maximum width of comment lines, in columns.
const width = 80

// DefaultFile is the file name that the comments in a starter file mention if the starter file is printed instead of
// written to a file.
const DefaultFile = "my-lock.yaml"

// Name returns the scenario name for a file: the file's name without its extension, adapted to the characters that are
// allowed in a scenario name.
func Name(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	words := strings.FieldsFunc(strings.ToLower(base), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	name := strings.Join(words, "-")
	if name == "" || name == "null" { // in YAML, null is not a string
		return Name(DefaultFile)
	}
	return strings.Trim(name[:min(len(name), longestName)], "-")
}

// longestName is the maximum length of a name in characters.
const longestName = 64

// Starter returns the text of a lock's starter file. name is the scenario's name, and word is the file's name, quoted
// for a shell.
func (k *Kind) Starter(name, word string) string {
	f := &starterFile{def: k.Lock, kind: k}
	f.line("# A scenario to edit: a lock of protocol %s.", k.Lock.Name)
	if k.Name != string(k.Lock.Name) {
		f.prose("", text.Sentence(k.Text))
	}
	f.line("#")
	for _, call := range []struct{ command, does string }{
		{"run " + word, "run it, and judge what happened"},
		{"run " + word + " --seeds 1000", "under a thousand schedules"},
		{"explore " + word, "find what breaks it"},
		{"show format", "all keys, faults and laws"},
	} {
		f.line("#   fencepost %-*s  %s", len("run "+word+" --seeds 1000"), call.command, call.does)
	}
	f.line("#")
	f.prose("", "Remove the # from a line such as #name: lock to set the key. The values shown are the defaults.")
	f.otherLocks()
	f.line("")
	f.line("name: %s", name)
	f.line("summary: A client pauses past its lease while others wait for the lock.")
	f.line("")
	f.servers()
	f.line("clients: 3                     # client-1, client-2, client-3")
	f.line("")
	f.lock()
	f.line("")
	f.work()
	f.line("")
	f.faults()
	f.line("")
	f.expect()
	return f.text.String()
}

type starterFile struct {
	def  *locks.Definition
	kind *Kind
	text strings.Builder
}

func (f *starterFile) line(format string, args ...any) { fmt.Fprintf(&f.text, format+"\n", args...) }

// prose writes the given text as a comment, wrapped over as many lines as needed.
func (f *starterFile) prose(indent, words string) {
	line := indent + "#"
	for _, word := range strings.Fields(strings.ReplaceAll(words, "`", "")) {
		if len([]rune(line))+1+len([]rune(word)) > width {
			f.line("%s", line)
			line = indent + "#"
		}
		line += " " + word
	}
	f.line("%s", line)
}

// otherLocks writes a comment that lists the other locks.
func (f *starterFile) otherLocks() {
	f.line("#")
	f.line("# Other locks (fencepost init LOCK):")
	for _, k := range Kinds() {
		if k.Name != f.kind.Name {
			f.prose("", fmt.Sprintf("- %s: %s", k.Name, k.Text))
		}
	}
}

// offer writes a setting. If the kind of lock is defined by a value of this setting, offer writes that value.
// Otherwise, it writes the default, commented out.
func (f *starterFile) offer(indent, path, standard string) {
	key := path[strings.LastIndexByte(path, '.')+1:]
	if value, given := f.kind.set[path]; given {
		f.line("%s%s: %s", indent, key, value)
		return
	}
	f.line("%s#%s: %s", indent, key, standard)
}

// count returns the number of servers that the starter file specifies.
func (f *starterFile) count() int {
	switch {
	case f.cluster():
		return 3
	case OneLog(f.def.Backend):
		return 3
	case f.def.Several:
		return 5
	}
	return 1
}

func (f *starterFile) servers() {
	f.line("servers:")
	f.line("  %s: %d", f.def.Backend, f.count())
	if Persists(f.def.Backend) {
		f.prose("  ", "when written data reaches the disk: everysec, always or no (with \"persistence: none\", never)")
		f.offer("  ", "servers.persistence", "{append-fsync: everysec}")
		f.prose("  ", "replicas of each master, and a Sentinel that promotes one when its master is down")
		f.offer("  ", "servers.replicas", "1")
		f.prose("  ", "on: three or more masters form a Cluster, which replaces a failed master without a Sentinel")
		f.offer("  ", "servers.cluster", "off")
		if f.cluster() {
			f.prose("  ", "how long a member of a Cluster must be silent before the others replace it")
			f.offer("  ", "servers.node-timeout", "15s")
		}
	} else {
		f.prose("  ", "how long one fsync takes; members fsync each entry before they acknowledge it")
		f.line("  #fsync: 1ms")
	}
	f.line("network:")
	f.line("  delay: 200us..2ms            # how long each message travels, in one direction")
	f.prose("  ", "the long tail: one message in a hundred takes 10 to 50 ms instead")
	f.line("  #tail: 1%% 10ms..50ms")
}

// lock writes all the protocol's settings with their defaults, commented out. Only the number of permits is not
// commented out.
func (f *starterFile) lock() {
	f.line("lock:")
	f.line("  protocol: %s", f.def.Name)
	f.prose("  ", "the lock's key on the servers")
	f.line("  #name: lock")
	config := f.inForce()
	for i := range f.def.Settings {
		s := &f.def.Settings[i]
		group, _, nested := strings.Cut(s.Path, ".")
		switch {
		case s.Form.Kind == format.Mapping:
			f.group(s)
		case nested && f.def.Setting(group) != nil: // written together with its group
		case s.Path == "permits" && f.def.Shares:
			f.prose("  ", s.Meaning+" ("+s.Form.Values()+")")
			f.line("  permits: 2")
		default:
			f.prose("  ", s.Meaning+" ("+s.Form.Values()+")")
			f.offer("  ", "lock."+s.Path, s.Form.Text(s.Get(config)))
		}
	}
}

// group writes a mapping on one line, with the meanings of its settings above it. If the kind of lock sets some of
// these settings, group writes their values. Otherwise, it writes all defaults, commented out.
func (f *starterFile) group(group *locks.Setting) {
	f.prose("  ", group.Meaning)
	var entries, given []string
	for i := range f.def.Settings {
		s := &f.def.Settings[i]
		name, inside := strings.CutPrefix(s.Path, group.Path+".")
		if !inside {
			continue
		}
		if value, set := f.kind.set["lock."+s.Path]; set {
			given = append(given, name+": "+value)
		}
		switch {
		case s.Depends == "":
			entries = append(entries, name+": "+s.Form.Text(s.Standard))
			f.prose("  ", fmt.Sprintf("- %s: %s (%s)", name, s.Meaning, s.Form.Values()))
		default:
			f.prose("  ", fmt.Sprintf("- %s: %s (%s; default %s)", name, s.Meaning, s.Form.Values(), s.Depends))
		}
	}
	if given != nil {
		f.line("  %s: {%s}", group.Path, strings.Join(given, ", "))
		return
	}
	f.line("  #%s: {%s}", group.Path, strings.Join(entries, ", "))
}

// inForce returns the lock's settings in a scenario that sets only the values that define the kind of lock.
func (f *starterFile) inForce() *locks.Config {
	text := fmt.Sprintf("name: x\nservers: {%s: %d}\nlock: {protocol: %s}\nwork: {writes: 1}\n",
		f.def.Backend, f.count(), f.def.Name)
	doc, err := format.ParseDocument("starter", []byte(text))
	for path, value := range f.kind.set {
		if err == nil {
			doc.Set(path, value)
		}
	}
	var s *Scenario
	if err == nil {
		s, err = Parse("starter", []byte(doc.String()))
	}
	if err != nil {
		panic(err) // cannot happen, because a test generates the file of every lock
	}
	return &s.Clients[0].Lock
}

func (f *starterFile) work() {
	f.line("work:")
	f.line("  cycles: 3                    # how many times a client acquires and releases")
	f.line("  think: 0s..500ms             # the time between two cycles")
	f.line("  writes: 1                    # reads and writes of the resource in a section")
	f.line("  hold: 100ms                  # how long the section lasts after the writes")
	if f.def.Expires {
		f.prose("  ", "check the remaining validity before each read and write, and stop when it has run out")
		f.offer("  ", "work.check-validity", "off")
	}
	if f.def.Setting("value-in") != nil {
		f.prose("  ", "tasks of a client that share one lock object")
		f.offer("  ", "work.tasks", "1")
	}
	f.prose("  ", "the code that writes acquires and releases the lock, which its caller already holds")
	f.offer("  ", "work.nested", "off")
	f.prose("  ", "release the lock before the last write, as before the commit of a transaction")
	f.offer("  ", "work.release-before-write", "off")
	f.line("resource:")
	if f.def.Tokens {
		f.line("  fencing: on                  # refuse tokens lower than the highest one seen")
	} else {
		f.line("  fencing: off                 # `on` needs tokens: fenced, etcd, consul")
	}
	f.prose(
		"  ",
		"blind: the last write wins; "+
			"compare-and-set: a write succeeds only if the value is still the one that the writer read; "+
			"idempotent: each operation is applied once",
	)
	f.line("  #writes: blind")
}

func (f *starterFile) faults() {
	first := f.holder()
	f.line("faults:                        # what goes wrong; kinds: fencepost show format")
	pause := 30 * time.Second
	config := &locks.Config{}
	if f.def.Defaults(config); f.def.Lasts(config) >= pause {
		pause = f.def.Lasts(config) + 10*time.Second
	}
	f.line("  - pause client-1 for %ds after acquired", pause/time.Second)
	if !OneLog(f.def.Backend) {
		f.line("  #- crash %s losing unsynced writes at 50ms, restart after 1s", first)
	} else {
		f.line("  #- shut down %s at 50ms, restart after 1s", first)
	}
	f.line("  #- jump %s clock by +30s at 1s", first)
	f.line("  #- cut client-2 | %s at 50ms for 5s", first)
	if Persists(f.def.Backend) {
		f.line("  #- evict key of lock on %s at 50ms", first)
		f.line("  #- flush %s at 50ms", first)
	}
}

func (f *starterFile) expect() {
	if f.def.Leaves {
		f.line("limit: 10m                     # each holder lets the lock expire")
	}
	f.line("expect:                        # the expected outcome: holds, violated or any")
	f.line("  lease-exclusion: holds")
	switch {
	case f.def.Shares:
		f.line("  mutual-exclusion: holds      # never more than two clients are inside")
	case f.def.Expires:
		f.line("  mutual-exclusion: violated by holder outlived its lease (pause)")
	default:
		f.line("  mutual-exclusion: holds      # nobody gets in before client-1 releases")
	}
	switch {
	case f.def.Shares: // several holders use the resource at once
	case f.def.Expires && !f.def.Tokens:
		f.line("  resource-safety: violated by superseded holder took effect")
	default:
		f.line("  resource-safety: holds")
	}
	f.line("  ownership: holds")
	f.line("  deadlock-freedom: holds")
}
