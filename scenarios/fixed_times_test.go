package scenarios

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// fixed is a time, or a number of heartbeats, that is constant in a source file.
type fixed struct{ value, file string }

// explained lists the times in the code that FORMAT.md's table of fixed times leaves out, with the reasons.
var explained = map[fixed]string{
	{"1ms", "sim/redis/store/file.go"}:          "the default of servers.fsync",
	{"1ms", "sim/redis/node.go"}:                "the unit in which Redis 8 counts the time between two fsyncs",
	{"1s", "sim/redis/node.go"}:                 "the same of Redis 7.0",
	{"10s", "sim/redis/config.go"}:              "the default of servers.min-replicas-max-lag",
	{"1s", "sim/redis/config.go"}:               "the default of servers.semi-sync-timeout",
	{"15s", "sim/redis/member.go"}:              "the default of servers.node-timeout",
	{"5s", "scenarios/backend_redis.go"}:        "a part of the default of bound, with cluster: on",
	{"8s", "sim/redis/sentinel.go"}:             "the default of servers.reconfigure-after",
	{"1s", "sim/raft/key.go"}:                   "tells random draws apart",
	{"1s", "sim/etcd/lease.go"}:                 "rounds up to whole seconds",
	{"1s", "sim/zookeeper/client.go"}:           "the recipe sets its own",
	{"10m", "sim/bubble/driver.go"}:             "how long a library may take to end after its run",
	{"1s", "sim/bubble/driver.go"}:              "runs begin at a whole second",
	{"1m", "sim/traced/checkpoint.go"}:          "when a program counts as having no point to copy it from",
	{"1s", "sim/traced/checkpoint.go"}:          "how long threads may take to come to rest before a program is copied",
	{"4s", "sim/traced/machine.go"}:             "processor time without a call after which a program is ended",
	{"5s", "scenarios/locks/fair.go"}:           "the default of lock.place-timeout",
	{"1ms", "scenarios/locks/fair.go"}:          "the least lock.place-timeout",
	{"1000h", "scenarios/client.go"}:            "longer than any run",
	{"1s", "scenarios/locks/etcd.go"}:           "the step of lock.ttl, and the default of lock.timeout",
	{"2s", "sim/zookeeper/config.go"}:           "the default of servers.tick-time",
	{"100ms", "scenarios/backend_zookeeper.go"}: "the least servers.tick-time",
	{"1m", "scenarios/backend_zookeeper.go"}:    "the most",
	{"1ms", "scenarios/backend_zookeeper.go"}:   "its step",
	{"4s", "scenarios/locks/zookeeper.go"}:      "the least lock.ttl",
	{"40s", "scenarios/locks/zookeeper.go"}:     "the most",
	{"1ms", "scenarios/locks/zookeeper.go"}:     "its step",
	{"1s", "scenarios/locks/zookeeper.go"}:      "the default of lock.timeout",
	{"1s", "scenarios/locks/lease_object.go"}:   "the step of lock.ttl",
	{"2s", "scenarios/locks/lease_object.go"}:   "the default of lock.retry-period",
	{"5s", "scenarios/locks/lease_object.go"}:   "the default of lock.timeout",
	{"10s", "scenarios/locks/lease_object.go"}:  "the default of lock.renew-deadline",
	{"15s", "scenarios/locks/lease_object.go"}:  "the default of lock.ttl",
	{"1m", "scenarios/locks/consul.go"}:         "the most of lock.lock-delay",
	{"1ms", "scenarios/locks/consul.go"}:        "the step of lock.ttl",
	{"1s", "scenarios/locks/consul.go"}:         "the default of lock.timeout",
	{"1s", "sim/consul/call.go"}:                "lock delays below a thousand are in seconds",
	{"10s", "sim/consul/call.go"}:               "the least lock.ttl",
	{"24h", "sim/consul/call.go"}:               "the most",
	{"2ms", "scenarios/locks/redlock.go"}:       "the default of lock.drift-allowance",
}

// counts maps the names of variables that count units of time to the unit names.
var counts = map[string]string{"ElectionTicks": " heartbeats", "missedTicks": " heartbeats"}

// TestFixedTimesAreStated compares FORMAT.md's table of fixed times with the code. Each time that the simulator, the
// clients and the checker use must have a row in the table, or an entry in the map explained. Each row must occur in
// the code.
func TestFixedTimesAreStated(t *testing.T) {
	text, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Fixed times\n")
	section, _, _ = strings.Cut(section, "\n## ")
	stated := map[fixed]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| ([0-9][^|]*) \\|.*\\| `(.*)` \\|$").FindAllStringSubmatch(section,
		-1) {
		stated[fixed{row[1], row[2]}] = true
	}
	found := map[fixed]bool{}
	for _, pattern := range []string{"sim/*.go", "sim/*/*.go", "sim/*/*/*.go", "checker/*.go", "scenarios/run.go",
		"scenarios/probe.go", "scenarios/client.go", "scenarios/cluster.go",
		"scenarios/resource.go", "scenarios/backend*.go", "scenarios/locks/*.go",
		"nemesis/install.go"} {
		paths, err := filepath.Glob("../" + pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			// settings.go defines scenario file settings, not fixed times
			if strings.HasSuffix(path, "_test.go") || path == "../scenarios/locks/settings.go" {
				continue
			}
			file := filepath.ToSlash(strings.TrimPrefix(path, "../"))
			for _, value := range timesIn(t, path) {
				found[fixed{value, file}] = true
			}
		}
	}
	for f := range found {
		if !stated[f] && explained[f] == "" {
			t.Errorf("%s has %s, which FORMAT.md does not state", f.file, f.value)
		}
	}
	for f := range stated {
		if !found[f] {
			t.Errorf("FORMAT.md states %s, which is not in %s", f.value, f.file)
		}
	}
	for f, why := range explained {
		if !found[f] {
			t.Errorf("%s (%s) is not in %s any more", f.value, why, f.file)
		}
	}
	if len(stated) < 25 {
		t.Errorf("only %d rows", len(stated))
	}
}

// units maps the names of package time's units to their abbreviations.
var units = map[string]string{"Microsecond": "us", "Millisecond": "ms", "Second": "s", "Minute": "m", "Hour": "h"}

// timesIn returns the constant times in a Go file: multiples of a unit, single units, and the values of the variables
// in counts. An expression that multiplies a unit by something other than a number, or that divides a unit, is a
// conversion and not a constant time.
func timesIn(t *testing.T, path string) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var above []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && units[n.Sel.Name] != "" {
				if number := times(above); number != "" {
					list = append(list, number+units[n.Sel.Name])
				}
			}
		case *ast.AssignStmt:
			for i := range min(len(n.Lhs), len(n.Rhs)) {
				list = append(list, counted(n.Lhs[i], n.Rhs[i])...)
			}
		case *ast.ValueSpec:
			for i := range n.Values {
				list = append(list, counted(n.Names[i], n.Values[i])...)
			}
		}
		above = append(above, n)
		return true
	})
	return list
}

// times returns the time that an expression with a unit represents, such as "5s". above contains the syntax nodes
// around the unit. times returns "" for a conversion.
func times(above []ast.Node) string {
	for _, n := range slices.Backward(above) {
		switch n := n.(type) {
		case *ast.ParenExpr:
		case *ast.CallExpr: // a conversion to the type
			if id, ok := n.Fun.(*ast.Ident); !ok || id.Name != "int64" {
				return "1"
			}
		case *ast.BinaryExpr:
			if n.Op != token.MUL && n.Op != token.QUO && n.Op != token.REM {
				return "1"
			}
			if x, ok := n.X.(*ast.BasicLit); ok && n.Op == token.MUL {
				return x.Value
			}
			return ""
		default:
			return "1"
		}
	}
	return "1"
}

// counted returns the value assigned to a variable, if the variable is listed in counts.
func counted(to, value ast.Expr) []string {
	name := ""
	switch to := to.(type) {
	case *ast.Ident:
		name = to.Name
	case *ast.SelectorExpr:
		name = to.Sel.Name
	}
	if n, ok := value.(*ast.BasicLit); ok && counts[name] != "" {
		return []string{n.Value + counts[name]}
	}
	return nil
}

// The slack and the declared hold have the values that FORMAT.md states.
func TestTheSlackIsAsStated(t *testing.T) {
	s, err := Parse("f.yaml",
		[]byte("name: x\nservers: {redis: 3}\nlock: {protocol: redlock, retry: {delay: 1s..3s}, timeout: 70ms}\n"+
			"work: {writes: 2, compute: 5s, hold: 11s}\nresource: {timeout: 400ms}\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := header(s)
	if want := time.Second + 2*(3*time.Second+2*3*70*time.Millisecond); h.Slack.Duration() != want {
		t.Errorf("slack %v, stated %v", h.Slack.Duration(), want)
	}
	if want := 11*time.Second + 2*(5*time.Second+2*400*time.Millisecond); h.Hold.Duration() != want {
		t.Errorf("hold %v, stated %v", h.Hold.Duration(), want)
	}
}
