package scenarios

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

var (
	quotedWord = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// matches a list of the format's words in a message
	ownWords   = regexp.MustCompile(`: (the keys here are|the \w+s are|did you mean) .*`)
	scalarWord = regexp.MustCompile(`[A-Za-z0-9_.%-]+`)
)

// wrongWord returns what the suggested word should replace. rest is the rest of the line, from the problem's column. If
// rest begins with something that the message quotes, wrongWord returns that. Otherwise it returns the next word.
func wrongWord(p *format.Problem, rest string) string {
	longest := ""
	for _, q := range quotedWord.FindAllString(p.Message, -1) {
		if word, err := strconv.Unquote(q); err == nil && strings.HasPrefix(rest, word) && len(word) > len(longest) {
			longest = word
		}
	}
	if longest == "" {
		longest = rest[:len(rest)-len(strings.TrimLeftFunc(rest,
			func(r rune) bool { return !strings.ContainsRune(" ,}]:", r) }))]
	}
	return longest
}

// slips returns typical misspellings of a word, and some wrong words.
func slips(word string) []string {
	all := []string{
		word + "x",
		strings.ToUpper(word),
		strings.ReplaceAll(word, "-", "_"),
		"5000",
		"10",
		"client-9",
		"worker-1",
		"true",
	}
	if len(word) > 2 {
		all = append(all, word[:1]+word[2:], word[1:2]+word[:1]+word[2:])
	}
	return all
}

// If an error suggests a word and the user writes it, there are no more problems at this position. The test makes
// typical spelling mistakes in every word of some files.
func TestTheNearestWordIsAccepted(t *testing.T) {
	texts := []string{string(example(t)), onEtcd, onZooKeeper, onFenced,
		"name: x\nservers: {redis: 1, replicas: 1, semi-sync: on}\nnetwork: {tail: 1% 10ms..50ms, links: {client-1 " +
			"-> redis-1: 5ms}}\nclients: 3\nlock: {protocol: set-nx-px, value: per-client, wait: {replicas: 1, obey: " +
			"on}, extension: {mode: checked, in: steps}, drift-allowance: 1% + 2ms}\nwork: {hold: validity, take: " +
			"all, think: 0s..1s, locks: [a, b]}\noverrides: {client-2: {work: {start: 1s}}}\nmix: {faults: 1..3, " +
			"weights: {pause: 3, crash: 1}, points: [acquired], without: [jump of servers]}\npromise: " +
			"[mutual-exclusion]\nexpect: {ownership: holds, mutual-exclusion: violated by lost in failover, metrics: " +
			"{unavailability: 1s..9s, lock_timeout_rate: 0}}\n"}
	names := []string{"failover-wait"}
	if testkit.Full() {
		names = Names()
	}
	for _, name := range names {
		s, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(s.Text()))
	}
	nth, made, offered := testkit.Size(20, 1, 1), 0, 0
	for _, text := range texts {
		if _, err := Parse("f.yaml", []byte(text)); err != nil {
			t.Fatal(err)
		}
		for _, at := range scalarWord.FindAllStringIndex(text, -1) {
			for _, slip := range slips(text[at[0]:at[1]]) {
				if made++; made%nth > 0 {
					continue
				}
				offered += checkOffers(t, text[:at[0]]+slip+text[at[1]:])
			}
		}
	}
	t.Logf("%d words were offered for slips in %d files", offered, len(texts))
	if offered < 500/nth {
		t.Errorf("only %d words were offered", offered)
	}
}

// checkOffers replaces each wrong word with the suggested one and checks the result. It returns the number of
// suggestions.
func checkOffers(t *testing.T, text string) (offered int) {
	var bad *format.Error
	if _, err := Parse("f.yaml", []byte(text)); !errors.As(err, &bad) {
		return 0
	}
	for _, p := range bad.Problems {
		if p.Nearest == "" {
			continue
		}
		offered++
		lines := strings.Split(text, "\n")
		line := []rune(lines[p.Line-1])
		rest := string(line[p.Column-1:])
		open := ""
		if strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "'") {
			open, rest = rest[:1], rest[1:]
		}
		lines[p.Line-1] = string(line[:p.Column-1]) + open + p.Nearest + strings.TrimPrefix(rest, wrongWord(&p, rest))
		var again *format.Error
		if _, err := Parse("f.yaml", []byte(strings.Join(lines, "\n"))); !errors.As(err, &again) {
			continue
		}
		for _, q := range again.Problems {
			if q.Line == p.Line && !strings.Contains(q.Message, " is missing") && q.Column >= p.Column &&
				q.Column < p.Column+len(p.Nearest) {
				t.Errorf("%s\nin its place: %s\n%s", p, q, lines[p.Line-1])
			}
		}
	}
	return offered
}

// leaks are terms from Go and its libraries that must not occur in a message.
var leaks = []string{
	"strconv",
	"yaml:",
	"json:",
	"%!",
	"reflect",
	"goroutine",
	"*ast.",
	"token",
	"context",
	"could not find",
	"unexpected",
}

// Messages about broken files use only the format's own words.
func TestNoMessageLeaksALibrary(t *testing.T) {
	text := string(example(t))
	seen := map[string]bool{}
	step := testkit.Size(80, 7, 1)
	for at := 0; at <= len(text); at += step {
		for _, broken := range []string{"\t", "{", "}", "[", "]", "\"", "'", ":", ",", "- ", "\n", "@", "|", ">", "`",
			"*", "&", "?", "%", "---\n", "\\", "\"\\q\"", "99999999999999999999", "!"} {
			_, err := Parse("f.yaml", []byte(text[:at]+broken+text[at:]))
			var bad *format.Error
			if !errors.As(err, &bad) {
				continue
			}
			for _, p := range bad.Problems {
				message := ownWords.ReplaceAllString(quotedWord.ReplaceAllString(p.Message, ""), "")
				seen[message] = true
				for _, leak := range leaks {
					if strings.Contains(message, leak) {
						t.Fatalf("%q at %d: %s", broken, at, p)
					}
				}
			}
		}
	}
	if len(seen) < testkit.Size(15, 45, 45) { // about fifteen of these are about YAML itself
		t.Errorf("only %d messages were seen", len(seen))
	}
}
