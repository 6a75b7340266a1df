package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// ofSearches lists the settings that affect only how a search chooses its plans. Package search tests them.
var ofSearches = []string{"mix.aimed", "mix.guided"}

type settingUnderTest struct{ path, value string }

// TestEverySettingChangesARunOrIsRefused tries each setting with each word that it accepts as its value, or with some
// numbers, for every protocol and for a single client. Either some run must differ from the run with the default, or
// the file must be rejected. testdata/format/refused.txt lists the rejected files with the reasons and positions.
func TestEverySettingChangesARunOrIsRefused(t *testing.T) {
	if testkit.Race {
		t.Skip("thousands of runs, each on one goroutine")
	}
	golden := filepath.Join("testdata", "format", "refused.txt")
	listed, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	protocols, whole := locks.Definitions(), testkit.Thorough() || *testkit.Update
	if !whole {
		protocols = testkit.Sample(t, protocols)
	}
	var refused, known strings.Builder
	tried, telling := 0, tellingOf{}
	for _, d := range protocols {
		for _, two := range refusals.FindAllString(string(listed), -1) {
			if strings.HasPrefix(two, string(d.Name)+" ") {
				known.WriteString(two)
			}
		}
		pool := situations(t, d)
		for _, s := range settingsOfTheFormat() {
			for _, path := range []string{s.path, "overrides.client-2." + s.path} {
				own := strings.HasPrefix(s.path, "lock.") || strings.HasPrefix(s.path, "work.")
				if path != s.path && (!own || !testkit.Full()) {
					continue
				}
				tried++
				judged := tried%testkit.Size(96, 24, 1) == 0 // the other values only need to be accepted
				judged = judged && !slices.Contains(ofOwnClients, s.path) && !slices.Contains(ofSearches, s.path)
				enough, line := enoughRefusals, fmt.Sprintf("%s  %s: %s\n", d.Name, path, s.value)
				if strings.Contains(string(listed), line) && !testkit.Full() && !*testkit.Update {
					enough = fewRefusals
				}
				switch why, matters := pool.try(t, telling, path, s.value, judged, enough); {
				case why != "" && path == s.path:
					fmt.Fprintf(&refused, "%s    %s\n", line, why)
				case why == "" && !matters:
					t.Errorf("%s: %s: %s changes no run", d.Name, path, s.value)
				}
			}
		}
	}
	if tried < 20*len(protocols) {
		t.Errorf("only %d settings were tried", tried)
	}
	if whole {
		testkit.Golden(t, golden, refused.String())
	} else if got, want := refused.String(), known.String(); got != want {
		t.Errorf("refused:\n%s\nbut %s has\n%s", got, golden, want)
	}
}

// refusals matches an entry in the golden file, which consists of a setting and, on the next line, the reason.
var refusals = regexp.MustCompile(`(?m)^\S.*\n +.*\n`)

// settingsOfTheFormat returns every setting that affects the course of runs, the choice of faults or how runs are
// judged, with some values for each setting.
func settingsOfTheFormat() (all []settingUnderTest) {
	// names and other parts of a scenario that are not settings
	texts := []string{"name", "summary", "source", "overrides", "faults"}
	var walk func(under string, fields []field)
	walk = func(under string, fields []field) {
		for _, f := range fields {
			path := under + f.name
			if f.instead != "" || slices.Contains(texts, path) {
				continue
			}
			for _, v := range valuesFor(path, &f) {
				all = append(all, settingUnderTest{path, v})
			}
			walk(path+".", f.inside())
		}
	}
	walk("", newFile(&format.Reader{}).fields())
	return all
}

// sampled lists the values to try for a setting if they cannot be derived from the setting's kind. Values in brackets
// or braces are lists and mappings. If there are no values, the setting is a mapping, and only the settings inside it
// are tried.
var sampled = map[string][]string{
	"servers": nil, "network": nil, "lock": nil, "work": nil, "resource": nil, "mix": nil, "lock.retry": nil,
	"expect": nil, "expect.metrics": {},
	"servers.redis": {"2", "7"}, "servers.etcd": {"1", "5"}, "servers.zookeeper": {"1", "5"},
	"servers.kubernetes": {"1", "3"}, "clients": {"1", "4"},
	"servers.persistence": {"none"},
	"lock.extension":      {"none", "{}"}, "lock.wait": {"none", "{}"}, "lock.quorum": {"1", "2"},
	"servers.notify-keyspace-events": {"KEA"},
	"lock.wait.replicas":             {"1", "2"}, "lock.permits": {"1", "2"},
	"servers.min-replicas-to-write": {"0", "1", "2"},
	"work.locks":                    {"[a, b]"}, "work.writes": {"2"}, "work.cycles": {"2", "4"},
	"work.tasks": {"2", "3"},
	"limit":      {"700ms"}, "bound": {"1ms"},
	"promise": {"[token-order]"}, "mix.faults": {"7", "2..3"}, "mix.weights": {"{pause: 1}"}, "mix.drift": {"7ppm"},
	"mix.forever": {"0%", "100%"}, "mix.aimed": {"0%", "100%"}, "mix.guided": {"0%", "100%"},
	"mix.at-points": {"0%", "100%"},
	"mix.points":    {"[acquired]"},
	"mix.passes":    {"1", "9"},
	"mix.messages":  {"1", "99"}, "mix.swarm": {"off"}, "mix.within": {"2s"}, "mix.without": {"[pause]"},
	"mix.with": {"[flush]"},
}

// valuesFor returns values for a setting: the words that it accepts, and some numbers.
func valuesFor(path string, f *field) []string {
	if some, ok := sampled[path]; ok {
		return some
	}
	values := slices.Clone(f.doc.words)
	switch {
	case strings.HasPrefix(path, "expect."):
		return []string{"holds", "violated"}
	case strings.HasPrefix(path, "mix."):
		return []string{"1234ms..1235ms"}
	case path == "network.links":
		return []string{"{client-1 | resource: 5ms}"}
	case path == "lock.name":
		return []string{"other"}
	}
	switch f.kind {
	case format.Duration:
		values = append(values, "2s", "6s", "35s")
	case format.Delay:
		values = append(values, "7ms", "3ms..9ms")
	case format.Count:
		values = append(values, "1", "3")
	case format.Allowance:
		values = append(values, "7%", "20ms", "1% + 2ms")
	case format.Share:
		values = append(values, "20% 30ms..50ms")
	}
	return values
}

// situationPool contains scenarios for one protocol where settings may have an effect. Each scenario is created when it
// is needed.
type situationPool struct {
	of    *locks.Definition
	texts []string
	made  []*setup
}

// tellingOf maps each setting to the situations where it has been observed to have an effect. A test tries these
// situations first, because the setting is likely to have an effect there again.
type tellingOf map[string][]int

// order returns the indices of all n situations in the order in which to try them: the simplest situation, then those
// where the setting has had an effect, then the others.
func (m tellingOf) order(key string, n int) []int {
	order := append([]int{0}, m[key]...)
	for i := 1; i < n; i++ {
		if !slices.Contains(m[key], i) {
			order = append(order, i)
		}
	}
	return order
}

func (m tellingOf) note(key string, i int) {
	if i > 0 && !slices.Contains(m[key], i) {
		m[key] = append(m[key], i)
	}
}

// setup is a scenario with the outcomes of its runs before any setting is changed.
type setup struct {
	doc  *format.Document
	came map[string]string // outcomes, keyed by kind of outcome and text
}

// situations returns scenarios that use the protocol or can be adapted to it: those in the catalog, those in the table
// of defects, and some others for rare circumstances.
func situations(t *testing.T, d *locks.Definition) *situationPool {
	texts := []string{minimal[d.Name] + "clients: 3\nwork: {cycles: 3, writes: 1}\n"}
	for _, extra := range extraSituations {
		texts = append(texts, "name: x"+filled(extra, d))
	}
	for i := range defects {
		texts = append(texts, "name: x"+defects[i].text)
	}
	for _, name := range Names() {
		_, text, err := fileOf(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return &situationPool{of: d, texts: texts, made: make([]*setup, len(texts))}
}

// situation returns the pool's ith situation, or nil if it cannot be adapted to the protocol.
func (p *situationPool) situation(t *testing.T, i int) *setup {
	if p.made[i] == nil {
		doc := documentOf(t, p.texts[i])
		if i > 0 {
			doc.Set("lock.protocol", string(p.of.Name))
			adapt(doc, p.of)
		}
		p.made[i] = &setup{doc: doc}
		if _, err := Parse("x.yaml", []byte(doc.String())); err != nil {
			p.made[i].doc = nil
		}
	}
	if p.made[i].doc == nil {
		return nil
	}
	return p.made[i]
}

// adapt removes from a scenario the settings that its new protocol does not have.
func adapt(doc *format.Document, d *locks.Definition) {
	for _, s := range locks.Settings() {
		path := "lock." + s.Path
		own := d.Setting(s.Path)
		if word, _ := doc.Get(path); own == nil ||
			len(own.Form.Words) > 0 && own.Form.Kind == format.Word && !slices.Contains(own.Form.Words, word) {
			doc.Remove(path)
		}
	}
	if !d.Expires {
		doc.Remove("work.check-validity")
		doc.Remove("work.stop-when-lost")
		if hold, _ := doc.Get("work.hold"); hold == "validity" {
			doc.Remove("work.hold")
		}
	}
	if !d.Tokens {
		doc.Remove("resource.fencing")
	}
}

func documentOf(t *testing.T, text string) *format.Document {
	t.Helper()
	doc, err := format.ParseDocument("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The test counts a setting as rejected if no situation accepts it and enoughRefusals situations reject it. For
// settings that are known to be rejected, fewRefusals situations are enough, except in the full test.
const enoughRefusals, fewRefusals = 25, 3

// try gives a setting a new value in one of the pool's scenarios after another, until the outcome of the runs changes.
// If all files are rejected, try returns the first error.
func (p *situationPool) try(t *testing.T, telling tellingOf, path, value string, judged bool, enough int) (
	refused string, matters bool) {
	accepted, refusals := false, 0
	key := strings.TrimPrefix(path, "overrides.client-2.")
	for _, i := range telling.order(key, len(p.texts)) {
		s := p.situation(t, i)
		if s == nil {
			continue
		}
		doc := s.doc.Clone()
		give(doc, path, value)
		with, err := Parse("x.yaml", []byte(doc.String()))
		var bad *format.Error
		if errors.As(err, &bad) {
			if refused == "" {
				refused = bad.Problems[0].Message
			}
			if refusals++; refusals == enough && !accepted {
				break
			}
			continue
		}
		if !judged {
			return "", true
		}
		first := !accepted
		accepted = true
		without := s.lacking(t, path)
		if reflect.DeepEqual(withoutText(copyOf(with)), withoutText(copyOf(without))) {
			if first {
				return "", true // this value is the default, so the runs cannot differ
			}
			continue
		}
		if s.outcomeBefore(t, path, without) != observed(t, path, with) {
			telling.note(key, i)
			return "", true
		}
	}
	if accepted {
		return "", false
	}
	return refused, false
}

// lacking returns the situation's scenario after removing a setting. If the setting is the only one in its mapping,
// lacking adds another setting to keep the mapping.
func (s *setup) lacking(t *testing.T, path string) *Scenario {
	doc := s.doc.Clone()
	doc.Remove(path)
	for group, others := range map[string][2]string{".extension.": {"in: background", "mode: checked"},
		".wait.": {"obey: on", "on-release: off"}} {
		before, key, inside := strings.Cut(path, group)
		mapping := before + strings.TrimSuffix(group, ".")
		if !inside || doc.Keys(mapping) != nil {
			continue
		}
		other := others[0]
		if strings.HasPrefix(other, key+":") {
			other = others[1]
		}
		give(doc, mapping, "{"+other+"}")
	}
	with, err := Parse("x.yaml", []byte(doc.String()))
	if err != nil { // the file needs the key
		with, err = Parse("x.yaml", []byte(s.doc.String()))
	}
	if err != nil {
		t.Fatalf("%s\n%v", s.doc, err)
	}
	return with
}

// outcomeBefore returns a scenario's outcome after the setting was removed from it.
func (s *setup) outcomeBefore(t *testing.T, path string, without *Scenario) string {
	key := kindOfOutcome(path) + "\n" + string(without.Text())
	if s.came == nil {
		s.came = map[string]string{}
	}
	if s.came[key] == "" {
		s.came[key] = observed(t, path, without)
	}
	return s.came[key]
}

func copyOf(s *Scenario) *Scenario {
	c := *s
	return &c
}

// versionsOf maps a word that selects a Redis command to the Redis version that has it.
var versionsOf = map[string]string{"delex": "8", "cad": "tair", "cas": "tair"}

// give sets a setting to a value, which may be a list or a mapping. If the value requires a particular server version,
// give sets the version too.
func give(doc *format.Document, path, value string) {
	if _, redis := doc.Get("servers.redis"); redis && versionsOf[value] != "" {
		doc.Set("servers.version", versionsOf[value])
	}
	if list, isList := strings.CutPrefix(value, "["); isList {
		doc.SetList(path, strings.Split(strings.TrimSuffix(list, "]"), ", "))
		return
	}
	if inside, isMapping := strings.CutPrefix(value, "{"); isMapping {
		inside = strings.TrimSuffix(inside, "}")
		if inside == "" {
			inside = map[string]string{"extension": "in: background",
				"wait": "obey: on"}[path[strings.LastIndex(path, ".")+1:]]
		}
		doc.Remove(path)
		key, v, _ := strings.Cut(inside, ": ")
		doc.Set(path+"."+key, v)
		return
	}
	doc.Set(path, value)
}

// kindOfOutcome returns what a setting can affect: the course of runs, the choice of faults, or how runs are judged.
func kindOfOutcome(path string) string {
	for _, kind := range []string{"mix", "expect", "promise", "bound"} {
		if path == kind || strings.HasPrefix(path, kind+".") {
			return kind
		}
	}
	return "run"
}

// observed returns the part of a scenario's outcome that the setting can affect.
func observed(t *testing.T, path string, s *Scenario) string {
	var b strings.Builder
	r := NewRunner(s)
	switch kindOfOutcome(path) {
	case "mix":
		within := s.Within
		if within == 0 {
			within = s.Limit
		}
		g, err := draw.NewGenerator(s.Mix, s.Targets(), within)
		if err != nil {
			return err.Error()
		}
		for seed := range uint64(400) {
			fmt.Fprintln(&b, g.Draw(seed))
		}
	case "promise", "expect":
		fmt.Fprint(&b, s.Promise, s.Expect)
	case "bound":
		result, err := r.Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(&b, checker.Check(result.History).Of(checker.FaultTolerance).Outcome)
	default:
		for seed := range uint64(2) {
			result, err := r.Run(s.Plan(seed + 1))
			if err != nil {
				t.Fatalf("%s\n%v", s.Text(), err)
			}
			b.WriteString(strconv.FormatUint(uint64(result.Digest), 16) + " ")
		}
	}
	return b.String()
}

// extraSituations are scenarios that show effects that the catalog does not show for every protocol. SERVERS and
// MEMBERS are replaced by the protocol's servers. REPLICATED and SEMI-SYNCED are replaced by servers with two replicas
// each.
var extraSituations = []string{
	`
servers: SERVERS
clients: 3
lock: {ttl: 4s}
work: {cycles: 2, writes: 1, compute: 100ms, nested: on}
`, `
servers: SERVERS
clients: 3
lock: {ttl: 4s, reentrant: uncounted}
work: {cycles: 2, writes: 1, compute: 100ms}
`, `
servers: SERVERS
clients: 3
lock: {ttl: 4s}
work: {cycles: 3, locks: [a, b]}
`, `
servers: SERVERS
clients: 3
lock: {ttl: 10s}
work: {cycles: 2, hold: 40s}
limit: 400s
`, `
servers: SERVERS
clients: 3
lock: {ttl: 10s}
work: {cycles: 2, hold: 4s, writes: 2, compute: 1s, stop-when-lost: off}
faults:
  - delay client-1 -> resource by 3s after before-write
  - cut client-2 | resource at 1s for 60s
limit: 400s
`, `
servers: SERVERS
lock: {ttl: 10s}
work: {hold: validity, check-validity: on}
faults:
  - jump client-1 clock by -5s at 500ms
  - jump client-2 clock by -3s at 12s
`, `
servers: SERVERS
lock: {ttl: 4s, extension: {every: 1s}, timeout: 500ms}
work: {hold: 9s, writes: 1, compute: 1s}
overrides: {client-1: {work: {start: 2s}}}
faults: [pause client-2 for 5s after acquired]
`, `
servers: SERVERS
lock: {ttl: 10s}
work: {hold: 1s, writes: 2, compute: 1s}
overrides: {client-1: {work: {start: 2s}}}
faults: [pause client-2 for 15s after acquired]
`, `
servers: SERVERS
work: {hold: 1s, writes: 2, compute: 1s}
faults: [pause client-1 for 60s after after-read]
`, `
servers: SERVERS
clients: 1
lock: {ttl: 4s}
work: {hold: 9s, writes: 1, compute: 1s}
faults: [expire session of client-1 at 2s]
`, `
servers: SERVERS
lock: {ttl: 4s}
work: {hold: 9s, writes: 1, compute: 1s}
overrides: {client-1: {work: {start: 20s}}}
faults: [expire session of client-2 at 2s]
`, `
servers: SERVERS
lock: {ttl: 10s}
work: {hold: 9s}
overrides: {client-1: {work: {start: 20s}}}
faults: [cut client-2 | MEMBERS at 1s for 3s]
`, `
servers: SERVERS
lock: {ttl: 4s}
work: {hold: 1s, cycles: 2}
faults:
  - pause client-1 for 5s at quorum-reached
  - pause client-2 for 5s at quorum-reached
`, `
servers: REPLICATED
lock: {ttl: 4s}
work: {cycles: 50, think: 1s}
faults: [CUT-REPLICAS]
limit: 400s
`, `
servers: SEMI-SYNCED
lock: {ttl: 4s}
work: {cycles: 50, think: 1s}
faults: [CUT-REPLICAS]
limit: 400s
`, `
servers: DURABLE
lock: {ttl: 4s}
work: {cycles: 10, think: 1s}
`, `
servers: SERVERS
lock: {ttl: 10s, retry: {patience: 5s}}
work: {hold: 3s}
overrides: {client-1: {work: {start: 200ms}}}
faults: [jump client-1 clock by +30s at 1s, jump client-2 clock by +30s at 100ms]
`, `
servers: SERVERS
lock: {ttl: 10s, retry: {patience: 5s}}
work: {hold: 3s}
faults: [jump client-2 clock by +30s at 1s]
`, `
servers: SERVERS
lock: {ttl: 10s}
work: {hold: 8s}
faults: ["crash MEMBER losing unsynced writes at 5s, restart after 100ms"]
`, `
servers: SERVERS
lock: {ttl: 10s, timeout: 3s, retry: {patience: 1s}}
clients: 3
work: {hold: 2s, cycles: 3}
faults: [cut MEMBERS -> client-1 at 0s for 1500ms]
`, `
servers: SERVERS
lock: {ttl: 10s, timeout: 50ms}
work: {hold: 2s, cycles: 3}
faults: [cut MEMBERS -> client-1 at 0s for 1500ms]
`, `
servers: SERVERS
lock: {ttl: 2s}
work: {hold: 3s, tasks: 2}
overrides: {client-2: {work: {start: 2500ms}}}
`, `
servers: SERVERS
lock: {ttl: 10s, reentrant: uncounted}
work: {hold: 3s, cycles: 2, writes: 1}
`, `
servers: WATCHED
lock: {ttl: 4s}
work: {cycles: 50, think: 1s}
faults: ["crash MEMBER losing everything at 1s"]
limit: 400s
`,
}

// filled replaces the placeholders in a situation's text, such as MEMBER, with names and settings of servers that suit
// the protocol.
func filled(text string, d *locks.Definition) string {
	n := map[bool]int{true: 3, false: 1}[d.Several]
	var members, cuts []string
	for _, m := range numbered(string(d.Backend), n) {
		members = append(members, string(m))
		cuts = append(cuts, fmt.Sprintf("cut %[1]s | %[1]s-replica-1 %[1]s-replica-2 at 0s for 60s", m))
	}
	return strings.NewReplacer("SERVERS", fmt.Sprintf("{%s: %d}", d.Backend, n), "MEMBERS", strings.Join(members, " "),
		"MEMBER", members[0],
		"SEMI-SYNCED", fmt.Sprintf("{%s: %d, replicas: 2, semi-sync: on, down-after: 300s}", d.Backend, n),
		"DURABLE", fmt.Sprintf("{%s: %d, persistence: {append-fsync: always}}", d.Backend, n),
		"WATCHED", fmt.Sprintf("{%s: %d, replicas: 2}", d.Backend, n),
		"REPLICATED", fmt.Sprintf("{%s: %d, replicas: 2, min-replicas-to-write: 1, down-after: 300s}", d.Backend, n),
		"CUT-REPLICAS", strings.Join(cuts, ", ")).
		Replace(text)
}
