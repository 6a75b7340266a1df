package scenarios

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// offered matches the lines that become a setting when their # is removed.
var offered = regexp.MustCompile(`(?m)^( *)#(- \S|[a-z-]+: )`)

// parse parses a scenario file that must be valid. Its path is always my-lock.yaml, so that two scenarios can be
// compared.
func parse(t *testing.T, text string) *Scenario {
	t.Helper()
	s, err := Parse("my-lock.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// lateSeeds lists seeds for which set-nx-px, fair and other protocols break lease-exclusion if they count the lease
// from a late reply.
var lateSeeds = []uint64{1079, 2499, 3757}

func TestEveryProtocolsFileComesOutAsItSays(t *testing.T) {
	for _, k := range Kinds() {
		s := parse(t, k.Starter("my-lock", DefaultFile))
		runner := NewRunner(s)
		for i := range uint64(testkit.Size(3, 12, 1000)) {
			seed := i
			if i < uint64(len(lateSeeds)) {
				seed = lateSeeds[i]
			}
			r, err := runner.Run(s.Plan(seed))
			if err != nil {
				t.Fatal(err)
			}
			if j := s.Judge(r); j.Standing() != document.Passed {
				t.Errorf("%s, seed %d: %v", k.Name, seed, j.Mismatches)
			}
		}
	}
}

// Every commented-out setting has its default value, so removing its # does not change anything. This does not apply to
// settings that have no default or are only examples.
func TestCommentedSettingsAreTheDefaults(t *testing.T) {
	changes := []string{"replicas:", "tail:", "extension:", "wait:", "- "}
	for _, k := range testkit.Sample(t, Kinds()) {
		text := k.Starter("my-lock", DefaultFile)
		base := parse(t, text)
		places := offered.FindAllStringSubmatchIndex(text, -1)
		if len(places) < 8 {
			t.Fatalf("%s: only %d settings are offered", k.Name, len(places))
		}
		for _, at := range places {
			taken := text[:at[3]] + text[at[3]+1:]
			key := text[at[4]:]
			if strings.HasPrefix(key, "wait:") {
				taken = strings.Replace(taken, "#replicas:", "replicas:", 1)
			}
			with := parse(t, taken)
			same := reflect.DeepEqual(with.Clients, base.Clients) && reflect.DeepEqual(with.Servers, base.Servers) &&
				with.Resource == base.Resource && reflect.DeepEqual(with.Network,
				base.Network) && reflect.DeepEqual(with.Faults, base.Faults)
			alters := false
			for _, c := range changes {
				alters = alters || strings.HasPrefix(key, c)
			}
			if same == alters {
				line, _, _ := strings.Cut(key, "\n")
				t.Errorf("%s: %q changes something: %v", k.Name, line, !same)
			}
		}
		parse(t, offered.ReplaceAllString(text, "$1$2"))
	}
}

// The starter file contains every setting that its protocol accepts.
func TestNoSettingIsMissing(t *testing.T) {
	for _, k := range Kinds() {
		d, text := k.Lock, k.Starter("my-lock", DefaultFile)
		for _, s := range d.Settings {
			name := s.Path[strings.LastIndexByte(s.Path, '.')+1:]
			given := d.Shares && name == "permits"
			for path := range k.set {
				given = given || strings.HasPrefix(path+".", "lock."+s.Path+".")
			}
			if !given && !strings.Contains(text, "#"+name+": ") && !strings.Contains(text, "# - "+name+": ") {
				t.Errorf("%s: %s is not offered", d.Name, s.Path)
			}
		}
		for _, line := range strings.Split(text, "\n") {
			// these mappings are on one line, so removing one # sets all their keys
			mapping := strings.Contains(line, "#wait: {") || strings.Contains(line, "#retry: {")
			if n := len([]rune(line)); n > width && !mapping {
				t.Errorf("%s: %d columns: %s", d.Name, n, line)
			}
		}
	}
}

// A scenario is named after its file. The format accepts the resulting name, no matter what the file is called.
func TestEveryFileGivesAName(t *testing.T) {
	for file, want := range map[string]string{
		"our-lock.yaml": "our-lock", "locks/checkout.yml": "checkout", "a.b.yaml": "a-b",
		"Our Lock (2).yml": "our-lock-2",
		"no-extension":     "no-extension", ".yaml": "my-lock", "é.yaml": "my-lock", "-": "my-lock",
		"null.yaml": "my-lock",
		"12.yaml":   "12", "1e3": "1e3", "yes.yaml": "yes", "0x1f.yaml": "0x1f",
		strings.Repeat("a", 63) + "-b.yaml": strings.Repeat("a", 63),
		strings.Repeat("é1", 90):            strings.Repeat("1-", 31) + "1",
	} {
		got := Name(file)
		if got != want {
			t.Errorf("%s is named %q, want %q", file, got, want)
		}
		if s := parse(t, KindNamed(string(Default)).Starter(got, file)); s.Name != want {
			t.Errorf("%s: the scenario is named %q", file, s.Name)
		}
	}
}
