package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// said is the overall result in one of a report's formats: the verdict and the headline.
type said struct{ verdict, headline string }

// forms contains the report from one invocation of "fencepost run", in all its formats.
type forms struct {
	said   map[string]said
	green  []string          // the formats that present the result as a pass
	laws   map[string]string // the verdict on each law, in JUnit
	signs  map[string]string // the mark of each law, in the step summary
	broken map[string]bool   // laws that were violated in some run
}

var (
	standingOnPage = regexp.MustCompile(`<div class="standing (\w+)">([^<]*)<`)
	headlineOnPage = regexp.MustCompile(`<p class="headline"><b>([^<]*)</b>`)
	lawInSummary   = regexp.MustCompile(`(?m)^\| (\S) \| [^|]*: ([a-z-]+) \| `)
	brokenIn       = regexp.MustCompile(`^In [0-9,]+ of [0-9,]+ runs?, ([a-z-]+) was broken\.`)
	detail         = regexp.MustCompile(`(:| in [0-9,]+ of ).*`)
)

// formsOf runs a scenario and reads the report in all formats.
func formsOf(t *testing.T, args ...string) forms {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("GITHUB_STEP_SUMMARY", "summary.md")
	t.Setenv("COLUMNS", "1000") // wide enough for a headline to fit on one line
	f := forms{map[string]said{}, nil, map[string]string{}, map[string]string{}, map[string]bool{}}
	var out, problems bytes.Buffer
	args = append(args, "--junit", "junit.xml", "--html", "page.html")
	if run(args, &out, &problems) == exitBadInput {
		t.Fatal(problems.String())
	}
	lines := strings.Split(out.String(), "\n")
	words := strings.Split(lines[0], "  ")
	f.said["text"] = said{strings.TrimSpace(words[len(words)-1]), lines[2]}
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("page.html")
	standing := standingOnPage.FindStringSubmatch(page)
	f.said["page"] = said{standing[2], headlineOnPage.FindStringSubmatch(page)[1]}
	if standing[1] == "good" {
		f.green = append(f.green, "page")
	}
	summary := read("summary.md")
	title, rest, _ := strings.Cut(summary[strings.Index(summary, "### "):], "\n\n")
	_, verdict, _ := strings.Cut(title, ": ")
	headline, _, _ := strings.Cut(rest, "\n")
	f.said["summary"] = said{verdict, headline}
	for _, row := range lawInSummary.FindAllStringSubmatch(summary, -1) {
		f.signs[row[2]] = row[1]
	}
	f.junit(t, read("junit.xml"))
	out.Reset()
	run(append(args, "--json"), &out, &problems)
	f.json(t, out.Bytes())
	return f
}

func (f *forms) junit(t *testing.T, text string) {
	var suites struct {
		Suite struct {
			Output string `xml:"system-out"`
			Cases  []struct {
				Name    string `xml:"name,attr"`
				Output  string `xml:"system-out"`
				Failure struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Error struct {
					Message string `xml:"message,attr"`
				} `xml:"error"`
				Skipped struct {
					Message string `xml:"message,attr"`
				} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatal(err)
	}
	output, _, _ := strings.Cut(suites.Suite.Output, "\n") // a note follows the first line
	verdict, headline, _ := strings.Cut(output, ": ")
	f.said["JUnit"] = said{verdict, headline}
	for _, c := range suites.Suite.Cases {
		f.laws[c.Name] = detail.ReplaceAllString(c.Output+c.Failure.Message+c.Error.Message+c.Skipped.Message, "")
	}
}

func (f *forms) json(t *testing.T, text []byte) {
	var d struct {
		Verdict, Headline string
		Seeds             int
		Laws              map[string]struct {
			Outcome  string
			Violated int
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	f.said["JSON"] = said{d.Verdict, d.Headline}
	if m := brokenIn.FindStringSubmatch(d.Headline); m != nil {
		if want := fmt.Sprintf("In %d of %d runs, %s was broken.", d.Laws[m[1]].Violated, d.Seeds, m[1]); m[0] != want {
			t.Errorf("the headline says %q, the counts %q", m[0], want)
		}
	} else if d.Seeds > 0 && strings.HasPrefix(d.Verdict, "broken") {
		t.Errorf("the headline of %s does not say how often: %s", d.Verdict, d.Headline)
	}
	for law, came := range d.Laws {
		f.broken[law] = came.Outcome == "violated" || came.Violated > 0
	}
}

// TestOneRunAndManySayTheSame checks that a report has the same verdict and headline in all formats. The overall
// verdict and the verdict on each law must be the same for one run and for many. A violation must never look like a
// pass. The test runs scenarios from the catalog once and with several seeds: every scenario in a full run, and
// otherwise only some of them.
func TestOneRunAndManySayTheSame(t *testing.T) {
	for i, name := range scenarios.Names() {
		if i%testkit.Size(96, 24, 1) != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			const seeds = 3
			many := formsOf(t, "run", name, "--seeds", fmt.Sprint(seeds))
			many.agree(t)
			verdicts := map[string]bool{}
			laws := map[string]map[string]bool{}
			for seed := range seeds {
				one := formsOf(t, "run", name, "--seed", fmt.Sprint(seed+1))
				one.agree(t)
				verdicts[one.said["text"].verdict] = true
				for law, words := range one.laws {
					if laws[law] == nil {
						laws[law] = map[string]bool{}
					}
					laws[law][words] = true
				}
			}
			got := many.said["text"].verdict
			if !verdicts[got] || len(verdicts) > 1 && !strings.HasPrefix(got, "broken") {
				t.Errorf("many runs are %q, single ones %v", got, verdicts)
			}
			for law, words := range many.laws {
				if !laws[law][words] {
					t.Errorf("of many runs %s is %q, of single ones %v", law, words, laws[law])
				}
			}
		})
	}
}

func (f *forms) agree(t *testing.T) {
	t.Helper()
	for form, s := range f.said {
		if plain(s) != plain(f.said["JSON"]) || s.verdict == "" || s.headline == "" {
			t.Errorf("%s says %q, JSON %q", form, s, f.said["JSON"])
		}
	}
	for law, broken := range f.broken {
		if !broken {
			continue
		}
		whole := f.said["text"]
		if f.signs[law] == "✓" || strings.HasPrefix(f.laws[law], "held") || len(f.green) > 0 ||
			!strings.HasPrefix(whole.verdict, "broken") || strings.Contains(whole.headline, "No two") {
			t.Errorf("%s was broken, and it looks like a pass: %+v", law, f)
		}
	}
}

// plain undoes a format's escaping: it replaces escape sequences with the characters that they stand for.
func plain(s said) said {
	s.headline = strings.NewReplacer(`\`, "", "&#34;", `"`, "&#39;", "'", "&quot;", `"`).Replace(s.headline)
	return s
}
