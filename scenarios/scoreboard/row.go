// Package scoreboard lists lock libraries written in several languages. It states what each library promises and how
// many promises were broken when the library was explored under each family of faults.
//
// A row is one library in one configuration. Each row has a folder in libraries. The folder's row.yaml is written by
// hand and describes the row. cmd/scoreboard writes the other files in the folder: one scenario for each family, the
// smallest plans, result.json and README.md. The rows for Go libraries have no folder: they are run by
// scenarios/locktest/libraries, and their results are read from there.
//
// Goals: every statement about a library comes from a result or names its source; each row has the command that repeats
// its result; a row that can no longer be run keeps its last result. Non-goals: ranking libraries.
package scoreboard

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/fencepost-sim/fencepost/checker"
)

// files contains the rows and their results.
//
//go:embed causes.yaml go.yaml go.json libraries
var files embed.FS

// Files returns the rows and results that this program was built with.
func Files() fs.FS { return files }

// Row is a lock library in one configuration. Its fields are row.yaml's keys.
type Row struct {
	Name     string `yaml:"-"` // the name of the row's folder
	Library  string `yaml:"library"`
	Language string `yaml:"language"`
	Version  string `yaml:"version"`
	Setting  string `yaml:"setting"`
	Promise  string `yaml:"promise"`  // what the documentation promises, in our words
	Stated   string `yaml:"stated"`   // where the documentation says so
	Servers  string `yaml:"servers"`  // the value of the key "servers" in the scenarios
	Lock     string `yaml:"lock"`     // the name of the lock, which is the key that the library writes
	Protocol string `yaml:"protocol"` // the protocol that the laws assume
	Compute  string `yaml:"compute"`  // how long a client works while it holds the lock
	Fencing  bool   `yaml:"fencing"`  // whether the resource compares fencing tokens
	// the command to install the library, run in the repository's top folder
	Install string `yaml:"install"`
	Client  string `yaml:"client"` // the command of a client; empty if the row was not tried
	Seeds   int    `yaml:"seeds"`  // the number of schedules of each family
	// NotTried says why the row has no result, if it has none.
	NotTried string        `yaml:"not-tried"`
	Explains []Explanation `yaml:"explains"`
	Aimed    []Aimed       `yaml:"aimed"`
	// Confirmed describes other observations in real time on a real server, and the commands that produced them.
	Confirmed string `yaml:"confirmed"`
	Real      []Real `yaml:"real"`
}

// Explanation says who or what is responsible for a finding, such as the library, and which lines of code cause it.
type Explanation struct {
	Law   checker.Law `yaml:"law"`
	Cause string      `yaml:"cause"` // the cause as in the result
	Text  string      `yaml:"text"`
}

// Aimed is a hand-written fault. It breaks a promise, but rarely occurs in random schedules.
type Aimed struct {
	Family string      `yaml:"family"` // the family in whose column the table shows the fault
	Fault  string      `yaml:"fault"`
	Law    checker.Law `yaml:"law"`
	Cause  string      `yaml:"cause"`
	Text   string      `yaml:"text"` // which side is responsible for the violation, and which lines explain it
}

// Real says whether a violation, either from a finding or from a hand-written fault, also occurred on a real server in
// real time.
type Real struct {
	Law    checker.Law `yaml:"law"`
	Cause  string      `yaml:"cause"`
	Server string      `yaml:"server"` // name and version of the server
	Broke  bool        `yaml:"broke"`  // whether the same law was broken there by the same cause
	// Text says what happened instead. If Broke is set, it says how many runs, if any, did not break the law.
	Text string `yaml:"text"`
}

// words says what happened on the real server.
func (r *Real) words() string {
	switch text := strings.TrimSpace(r.Text); {
	case !r.Broke:
		return "In real time, the promise did not break on " + r.Server + ": " + text
	case text != "":
		return "In real time, the promise also broke on " + r.Server + ", for the same cause. " + text
	}
	return "In real time, the promise also broke on " + r.Server + ", for the same cause:"
}

// ttl is every lock's time to live.
const ttl = "8s"

// limit is when a run ends. It leaves enough time for six 20 s critical sections and one wait that is far too long.
const limit = "240s"

// Family is a family of faults. Package locktest has families with the same names and faults, because the table also
// shows locktest's results for Go libraries.
type Family struct {
	Name, words string // words say what the faults do
	weights     string // value of the key "weights" in the scenarios
}

// Families lists the fault families in the order of the table's columns. The last family contains the faults from all
// the others.
var Families = []Family{
	{"pauses", "a client or a server stops for a while and then continues, as during garbage collection.",
		"{pause: 6}"},
	{"network", "a link is cut, a message arrives late, or a connection breaks.",
		"{cut: 6, delay: 4, delay message: 4, break: 3}"},
	{"restarts", "a client or a server crashes or is shut down, and may start again.", "{crash: 6, shut down: 2}"},
	{"failovers", "a replica takes over; tried only where there are replicas.",
		"{fail over: 4, crash: 6, cut: 6}"},
	{"clocks", "the clock of a client or a server jumps, or runs too fast or too slow.", "{jump: 4, drift: 2}"},
	{"all", "faults of several of these kinds in one schedule.", ""},
}

// judged lists the laws that are checked for every lock.
var judged = []checker.Law{checker.LeaseExclusion, checker.Ownership, checker.ResourceSafety, checker.DeadlockFreedom,
	checker.FaultTolerance}

// laws returns the laws that are checked when the row's lock is explored.
func (r *Row) laws() []checker.Law {
	if r.Fencing {
		return append(slices.Clone(judged), checker.TokenOrder)
	}
	return judged
}

// Applies reports whether row r is explored under the family of faults. The family "failovers" requires a replica. The
// family of all faults applies to no row: each of a row's schedules has only one fault, so this family would only
// repeat the schedules of the others.
func (f Family) Applies(r *Row) bool {
	return f.weights != "" && (f.Name != "failovers" || strings.Contains(r.Servers, "replicas:"))
}

// Folder returns the row's folder, relative to this package.
func (r *Row) Folder() string { return path.Join("libraries", r.Name) }

// Scenario returns the text of the scenario for exploring the row's lock under a family of faults.
func (r *Row) Scenario(f Family) string {
	return r.scenario(f.Name, "one fault of the family "+f.Name, fmt.Sprintf(`mix:
  faults: 1
  weights: %s
  without: [pause of resource]
`, f.weights))
}

// AimedScenario returns a scenario with the hand-written fault at index n, and the name of the scenario's file.
func (r *Row) AimedScenario(n int) (file, text string) {
	a, name := r.Aimed[n], fmt.Sprintf("aimed-%d", n+1)
	return name + ".yaml", r.scenario(name, "a fault that was placed by hand", fmt.Sprintf(`faults:
  - %s
expect:
  %s: violated by %s
  mutual-exclusion: any
`, a.Fault, a.Law, a.Cause))
}

// scenario returns a scenario with the row's lock. It includes the given YAML text with the fault settings.
func (r *Row) scenario(name, under, faults string) string {
	var laws []string
	for _, l := range r.laws() {
		laws = append(laws, string(l))
	}
	resource := ""
	if r.Fencing {
		resource = "resource: {fencing: on}\n"
	}
	return fmt.Sprintf(`name: %s-%s
summary: Three clients take the lock of %s twice each, under %s.
servers: %s
clients: 3
lock: {name: %q, protocol: %s, ttl: %s}
work: {cycles: 2, writes: 1, compute: %s}
limit: %s
%s%spromise: [%s]
`, r.Name, name, r.Library, under, r.Servers, r.Lock, r.Protocol, ttl, r.Compute, limit, resource, faults,
		strings.Join(laws, ", "))
}

// find returns the explanation for a violation of a law with a particular cause, or nil if there is none.
func find(all []Explanation, law checker.Law, cause string) *Explanation {
	i := slices.IndexFunc(all, func(e Explanation) bool { return e.Law == law && e.Cause == cause })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Rows returns the rows that have folders, sorted by name.
func Rows(files fs.FS) (all []Row, err error) {
	folders, err := fs.ReadDir(files, "libraries")
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		r := Row{Name: folder.Name()}
		if err := decode(files, path.Join(r.Folder(), "row.yaml"), &r); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// decode reads a YAML file. It returns an error if the file has an unknown key.
func decode(files fs.FS, name string, into any) error {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalWithOptions(text, into, yaml.Strict()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
