package scenarios

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// Load reads the scenario file at path. It returns Parse's errors and file system errors. If the file does not exist,
// the error matches fs.ErrNotExist.
func Load(path string) (*Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, format.AboutFile(path, "is a directory, not a scenario file")
	}
	if info.Mode().IsRegular() && info.Size() > format.MaxFile {
		return nil, format.TooLarge(path, info.Size())
	}
	text, err := io.ReadAll(io.LimitReader(f, format.MaxFile+1))
	if err != nil {
		return nil, err
	}
	s, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	s.Path = path
	return s, nil
}

// Parse parses a scenario. Error messages refer to the text by the given path, but Scenario.Path stays empty. If the
// text is invalid, Parse returns no scenario and a *format.Error that lists all problems. FORMAT.md describes the
// format.
func Parse(path string, text []byte) (*Scenario, error) { return ParseWith(path, text, nil) }

// file is a scenario file that is being parsed. Each setting is first parsed on its own. Then the settings that depend
// on others are filled in.
type file struct {
	*format.Reader
	scenario                      *Scenario
	inServers, inWork, inResource format.Given
	serversAt                     format.Place
	clients                       int
	stagger                       time.Duration
	lock                          lockSettings // settings that apply to all clients
	work                          Work         // settings that apply to all clients; Start is separate
	names                         []namedLock
	with                          []string // value of mix.with
	// These nodes are parsed last, because they depend on the clients and the servers.
	links, overrides, faults, mix, metrics ast.Node
}

// fields returns a file's top-level settings.
func (f *file) fields() []field {
	s := f.scenario
	times := f.timeFields()
	return []field{
		{name: "name", required: true, read: save(&s.Name, f.Slug),
			doc: doc{values: "lower-case letters, digits, `-`; at most 64", standard: "required",
				meaning: "the scenario's name"}},
		{name: "summary", read: save(&s.Summary, f.Prose),
			doc: doc{values: "text", standard: "none",
				meaning: "a description of the situation for readers who do not know it"}},
		{name: "source", read: save(&s.Source, f.Prose),
			doc: doc{values: "text", standard: "none",
				meaning: "where the situation is described: author, title and address of the document, or any text"}},
		{name: "servers", required: true, fields: f.serverFields, read: func(n ast.Node) {
			if _, ok := n.(ast.MapNode); ok {
				f.serversAt = format.StartOf(n)
			}
			f.inServers = mapping(f.Reader, n, "servers", f.serverFields())
		}, doc: doc{values: "mapping", standard: "required", meaning: "the lock servers"}},
		{name: "network", fields: f.networkFields,
			read: func(n ast.Node) { mapping(f.Reader, n, "network", f.networkFields()) }},
		{name: "clients", read: func(n ast.Node) { f.clients, _ = f.Whole(1, maxClients)(n) },
			doc: doc{values: fmt.Sprintf("1 to %d", maxClients), standard: "`2`",
				meaning: "how many clients: " +
					"client-1, client-2 …"},
			kind:   format.Count,
			number: func(s *Scenario, _ *Client) (int64, bool) { return int64(len(s.Clients)), true }},
		{name: "lock", required: true, fields: f.allLockFields, read: func(n ast.Node) {
			f.readLock(n, "lock", &f.lock, everyone)
		}},
		{name: "work", fields: func() []field { return f.workFields(&f.work, everyone) }, read: func(n ast.Node) {
			f.inWork = mapping(f.Reader, n, "work", f.workFields(&f.work, everyone))
		}},
		{name: "resource", fields: f.resourceFields, read: func(n ast.Node) {
			f.inResource = mapping(f.Reader, n, "resource", f.resourceFields())
		}},
		{name: "overrides", read: func(n ast.Node) { f.overrides = n }, doc: doc{values: "mapping of client to mapping",
			standard: "none", meaning: "settings of individual clients that differ from those of the other clients; " +
				"see Overrides"}},
		{name: "faults", read: func(n ast.Node) { f.faults = n },
			doc: doc{values: "list of lines", standard: "none", meaning: "the faults of the run; see Faults"}},
		{name: "mix", fields: func() []field { return f.mixFields(&draw.Mix{}) }, read: func(n ast.Node) { f.mix = n }},
		{name: "promise", read: f.readPromise, doc: doc{values: "list of laws, `availability`",
			standard: "see below", meaning: "the laws that must hold under any faults; see Promise. " +
				"Default: all laws except those for which `expect` says violated or any"}},
		times[0], times[1],
		{name: "expect", fields: f.expectFields,
			read: func(n ast.Node) { mapping(f.Reader, n, "expect", f.expectFields()) },
			doc:  doc{values: "mapping", standard: "none", meaning: "the expected outcome; see Expectations"}},
	}
}

// timeFields returns the "limit" and "bound" settings.
func (f *file) timeFields() []field {
	t := table[Scenario]{Reader: f.Reader, keys: timeKeys, to: f.scenario,
		of: func(s *Scenario, _ *Client) *Scenario { return s }}
	return t.fields("")
}

var timeKeys = []format.Key[Scenario]{
	format.Positive("limit", func(s *Scenario) *time.Duration { return &s.Limit }, 120*time.Second,
		"the simulated time at which the run ends"),
	format.Positive("bound", func(s *Scenario) *time.Duration { return &s.Bound }, 0,
		"how long an uncontended acquire or release may take (fault-tolerance)").
		Depending("the lock's TTL, plus the time after which servers replace a silent leader or master: " +
			"with several ZooKeeper members, `sync-limit` times `tick-time`; with Consul, `raft-multiplier` seconds; " +
			"with a Redis Cluster, six times `node-timeout` plus 5s"),
}

// settle parses the settings that refer to clients and servers. It also checks constraints between settings, and fills
// in defaults that depend on other settings.
func (f *file) settle() {
	names := f.processes()
	f.checkLock(&f.lock)
	f.checkWork(&f.lock, &f.work, f.inWork)
	f.checkResource()
	f.checkServers()
	f.readLinks(names)
	if f.metrics != nil {
		f.scenario.Expect.Metrics = format.ReadMetrics(f.Reader, f.metrics, names)
	}
	f.readClients(names)
	if names != nil {
		names.Locks = f.scenario.Locks()
	}
	f.readFaults(names)
	f.readMix(names)
	f.checkNames()
	f.defaultBound()
	f.defaultPromise()
}

// processes returns the processes in the run. If the file does not give a valid number of servers and clients, it
// returns nil, so that one wrong number does not lead to an error message for each process name in the file.
func (f *file) processes() *nemesis.Names {
	if f.clients == 0 || len(f.scenario.Servers.asked()) == 0 {
		return nil
	}
	names := f.scenario.Servers.targets()
	names.Sessions = f.scenario.Servers.service(locks.Define(f.lock.config.Protocol)).Kind().Sessions
	names.Clients = clientNames(f.clients)
	return &names
}

func clientNames(n int) []sim.ProcessID {
	names := make([]sim.ProcessID, n)
	for i := range names {
		names[i] = sim.ProcessID(fmt.Sprintf("client-%d", i+1))
	}
	return names
}

// expectFields returns the settings in the "expect" mapping: the names of the laws and "metrics".
func (f *file) expectFields() []field {
	var fields []field
	for _, law := range checker.Laws {
		fields = append(fields, field{name: string(law), sample: "holds", read: func(n ast.Node) {
			if e, ok := format.ReadLaw(f.Reader, n); ok {
				f.scenario.Expect.Laws[law] = e
			}
		}, takes: func(n ast.Node) bool {
			_, ok := format.ReadLaw(f.Reader, n)
			return ok
		}})
	}
	return append(fields, field{name: "metrics", read: func(n ast.Node) { f.metrics = n },
		doc: doc{values: "mapping", standard: "none", meaning: "bounds on metrics; see Metrics"}})
}
