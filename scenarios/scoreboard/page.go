package scoreboard

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// title is the title of both the Markdown page and the HTML page.
const title = "Lock libraries under faults"

// legend explains the letters in the table.
var legend = []struct{ letter, words string }{
	{"E", "exclusion: two leases ran at the same time."},
	{"O", "ownership: a client removed or extended the key of another client, or of another attempt of its own."},
	{"D", "data: the resource accepted a write from a client that had lost the lock. " +
		"No lease prevents every such write; " +
		"a fencing token can."},
	{"W", "waiting: a client waited far too long, or forever, although enough servers were up."},
	{"T", "tokens: a client got a fencing token that was not higher than all earlier ones. " +
		"This is judged only for locks that give tokens."},
}

// introduction explains how to read the table. It follows the legend.
const introduction = `A schedule is one run of several clients under randomly drawn faults. A dot means that no schedule
broke any of these promises. That is no proof: the column "schedules" says how many schedules there were in all of the
row's families together, and the library's page says how many there were in each family. A letter with a question mark
means that none of the family's schedules showed whether the promise is kept. A letter in parentheses means that no
random schedule broke the promise, but a fault placed by hand did. In the column "real", a letter means that one of the
row's findings also broke the promise in real time on a real server, for the same cause; a dot means that findings were
tried there and none of them did. An empty cell was not tried. The order is alphabetical. A letter does not mean that
the library is at fault: its page says whether each finding is due to the library, its settings, the servers or a limit
of all leases.`

// method explains how the scoreboard's results were obtained.
const method = `Each lock has a TTL of 8 s. Three clients take it twice each; they read the data at the start of their
work and write it at the end. The work takes 4 s, or 20 s if the lock is renewed. If a library says how long
the lock is valid, its client writes only within that time. If a library renews a Redis lock by itself, its client
cannot know when: E then covers only the first 8 s after each acquisition, and a later overlap shows only as D. The
libraries are unmodified, with documented settings. A family's faults are drawn with the weights of the default mix. The
Go libraries run in process, with one to five faults per schedule and more kinds of clients
(scenarios/locktest/libraries); there, D counts clients that check their validity. Libraries in other languages run as
unmodified programs in virtual time (scenarios/live), against simulated servers, with one fault per schedule; the
resource is not paused. The column "all" is for schedules with faults of several kinds.`

// rerun explains how to repeat the runs for a scoreboard row.
const rerun = `A row's page has the command that installs its library. This runs redis-py again, and writes its result
and the pages:`

// correction explains how a library's author can correct a row.
const correction = `Each row is a folder in scenarios/scoreboard/libraries. Its row.yaml has everything that was written
by hand: version, settings, what the documentation promises and where, and what each finding is due to. Its client is
the program in the command. Change them, run the row again with its command, and send what has changed. A test fails if
a page differs from its result or a scenario from its row, or if a finding has no explanation. Go rows are corrected in
scenarios/locktest/libraries.`

// wrapped wraps text into lines for Markdown.
func wrapped(words string) string { return strings.Join(text.Wrap(words, 118), "\n") + "\n" }

// item returns the given words as a Markdown list item.
func item(words string) string { return "- " + strings.Join(text.Wrap(words, 116), "\n  ") + "\n" }

// markdown returns the page with the table of all rows.
func (b *Board) markdown() string {
	var out, links strings.Builder
	out.WriteString("# " + title + "\n\n" + wrapped(`After reading this page you know which promises a lock library broke
under which faults, you can replay each case with one command, and you can correct a row.`) + "\n" +
		wrapped("Each letter names a promise that broke in at least one schedule in a fault family:") + "\n")
	for _, l := range legend {
		out.WriteString(item("**" + l.letter + "**, " + l.words))
	}
	out.WriteString("\n" + wrapped("The columns of the table are these families:") + "\n")
	for _, f := range Families {
		out.WriteString(item("**" + f.Name + "**: " + f.words))
	}
	out.WriteString("\n" + wrapped(introduction) + "\n| library | language | version | schedules |")
	for _, f := range Families {
		out.WriteString(" " + f.Name + " |")
	}
	out.WriteString(" real |\n|---|---|---|--:|" + strings.Repeat("---|", len(Families)+1) + "\n")
	for _, e := range b.entries {
		fmt.Fprintf(&out, "| [%s] | %s | %s |%s |", e.Name, e.Language, e.shown(), e.schedules())
		for _, f := range Families {
			out.WriteString(strings.TrimRight(" "+e.marks(f.Name), " ") + " |")
		}
		out.WriteString(strings.TrimRight(" "+e.realMarks(), " ") + " |\n")
		fmt.Fprintf(&links, "[%s]: %s\n", e.Name, e.page)
	}
	out.WriteString("\n" + links.String() + b.notTried() +
		"\n## How the libraries were run\n\n" + wrapped(method) +
		"\n## Run a row again, or correct it\n\n" + wrapped(rerun) + "\n    go run ./cmd/scoreboard redis-py\n\n" +
		wrapped("Without a name, it runs all rows that have their library installed. "+
			"A row that cannot be run keeps its result.") +
		"\n" + wrapped(correction))
	return out.String()
}

// notTried lists the rows that have no result, and says why. It returns "" if all rows have results.
func (b *Board) notTried() string {
	var out strings.Builder
	for _, e := range b.entries {
		if e.result == nil {
			out.WriteString(item("[" + e.Name + "]: " + e.notTried()))
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n## Not explored\n\n" + out.String()
}

// Pages returns the page with the table and the pages of all rows that have folders. The keys are the pages' paths
// relative to this package.
func (b *Board) Pages() map[string]string {
	all := map[string]string{"README.md": b.markdown()}
	for _, e := range b.entries {
		if !e.ofGo {
			all[e.page] = e.markdown()
		}
	}
	return all
}

// markdown returns a scoreboard row's Markdown page.
func (e *entry) markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s under faults\n\n%s\n", e.Name, wrapped("After reading this page you know which promises "+
		e.Library+" broke under which faults and why, and you can replay each case. "+
		"For other libraries, see [the scoreboard](../../README.md)."))
	for _, fact := range e.facts() {
		out.WriteString(item(fact.Name + ": " + fact.Value))
	}
	if e.result != nil {
		out.WriteString("\n## What broke, and how often\n\n" + e.table())
		if len(e.result.Findings) > 0 {
			out.WriteString("\n## What breaks it, and why\n")
		}
		for i := range e.result.Findings {
			out.WriteString(e.finding(&e.result.Findings[i]))
		}
	}
	out.WriteString(e.aimed() + e.closest())
	if e.Client == "" {
		return out.String()
	}
	out.WriteString("\n## Run it again\n\n" + wrapped("Run the first command once, at the top of the repository, "+
		"and the second as often as you like. The second one writes this page.") + "\n    " +
		strings.TrimSpace(e.Install) + "\n    " +
		e.command + "\n\n" + wrapped("To run one family of faults and print its report:") + "\n    " +
		e.explore("pauses") + "\n")
	return out.String()
}

// facts returns everything about a scoreboard row except its findings.
func (e *entry) facts() (all document.Facts) {
	add := func(name, words string) {
		if words != "" {
			all = append(all, document.Fact{Name: name, Value: words})
		}
	}
	add("Version", e.Version)
	add("Setting", e.Setting)
	if e.Promise != "" {
		add("Promises", strings.TrimSpace(e.Promise)+" Stated at "+e.Stated)
	}
	if e.result == nil {
		add("Not explored", e.notTried())
		add("On a real server", e.Confirmed)
		return all
	}
	if e.former() {
		add("Result", "of an earlier version, "+e.result.Version)
	}
	if e.result.Date != "" {
		add("Explored", fmt.Sprintf("%s, %d schedules", e.result.Date, e.result.runs()))
	}
	add("On a real server", e.Confirmed)
	return all
}

// table returns a table that shows, for each fault family, in how many runs each law was decided, and in how many of
// those it was broken.
func (e *entry) table() string {
	var out, failed strings.Builder
	out.WriteString("| promise |")
	for _, o := range e.result.Outcomes {
		fmt.Fprintf(&out, " %s, %d |", o.Family, o.Runs)
		if o.Failed > 0 {
			failed.WriteString(item(fmt.Sprintf("%s: %d of %d. %s", o.Family, o.Failed, o.Runs, o.Why)))
		}
	}
	out.WriteString("\n|---|" + strings.Repeat("--:|", len(e.result.Outcomes)) + "\n")
	for _, law := range e.laws() {
		out.WriteString("| " + string(law) + " |")
		for _, o := range e.result.Outcomes {
			out.WriteString(" " + o.cell(law) + " |")
		}
		out.WriteByte('\n')
	}
	out.WriteString("\n" + wrapped("The number after a family's name is the number of its schedules. "+
		"A cell such as 2 of 9 means that 9 schedules showed whether the promise is kept, and 2 of them broke it. "+
		"A cell such as 0 of 9, <1/3 means that none broke it: "+
		"with 95% confidence, fewer than 1 in 3 such schedules do. "+
		"A dash means that no schedule showed whether the promise is kept."))
	if failed.Len() > 0 {
		out.WriteString("\nThese schedules could not be judged, because a client failed:\n\n" +
			failed.String())
	}
	return out.String()
}

// cell returns the contents of a table cell: the number of runs in which a law was broken, and the number of runs in
// which it was decided. If no run broke it, the cell also has an upper bound on the rate, such as "<1/100". If no run
// decided it, the cell is "–".
func (o *Outcome) cell(law checker.Law) string {
	broke, decided := o.Broke[law], o.Decided[law]
	switch {
	case decided == 0:
		return "–"
	case broke > 0:
		return fmt.Sprintf("%d of %d", broke, decided)
	}
	return fmt.Sprintf("0 of %d, <1/%d", decided, campaign.OneIn(decided))
}

// found says in how many runs a finding occurred, for each fault family under which it occurred.
func (r *Result) found(f *Finding) string {
	var seen []string
	for _, o := range r.Outcomes {
		i := slices.IndexFunc(o.Causes, func(b Broken) bool { return b.Law == f.Law && b.Cause == f.Cause })
		if i >= 0 {
			seen = append(seen, fmt.Sprintf("%d of %d under %s", o.Causes[i].Runs, o.Runs, o.Family))
		}
	}
	return strings.Join(seen, ", ")
}

// finding returns the section about one finding on a scoreboard row's page.
func (e *entry) finding(f *Finding) string {
	words := f.Headline
	if x := e.explanation(f); x != nil {
		words += " " + strings.TrimSpace(x.Text)
	}
	switch {
	case f.ByHand:
		words += " The plan was chosen by hand: " +
			"the plan that the exploration found does not break the promise on every machine."
	case !f.Minimal:
		words += " A simpler plan may show it too."
	}
	return fmt.Sprintf("\n### %s: %s\n\n%s\n```\n%s\n```\n\n    %s\n", f.Law, f.Cause,
		wrapped(words+" Schedules that showed it: "+e.result.found(f)+"."), strings.Join(f.Plan, "\n"), e.replay(f)) +
		e.confirmed(f.Law, f.Cause, path.Join(f.Folder, search.ScenarioFile))
}

// confirmed says what a violation of a law did to a real server, and gives the command that tries it. If nobody has
// tried it, confirmed returns "". file is the scenario's path, relative to the row's folder.
func (e *entry) confirmed(law checker.Law, cause, file string) string {
	r := e.real(law, cause)
	if r == nil {
		return ""
	}
	return "\n" + wrapped(r.words()) + "\n    " + e.live(file) + "\n"
}

// aimed returns the section about hand-written faults for a scoreboard row's page, or "" if the row has no such faults.
func (e *entry) aimed() string {
	var out strings.Builder
	for n, a := range e.Aimed {
		fmt.Fprintf(&out, "\n### %s: %s, by a fault placed by hand\n\n%s\n```\n%s\n```\n", a.Law, a.Cause,
			wrapped(strings.TrimSpace(a.Text)), a.Fault)
		out.WriteString("\n    " + e.runAimed(n) + "\n")
		file, _ := e.AimedScenario(n)
		out.WriteString(e.confirmed(a.Law, a.Cause, file))
	}
	return out.String()
}

// closest returns the section about the laws that no run broke, for a scoreboard row's page. It returns "" if no run
// came close to breaking one.
func (e *entry) closest() string {
	if e.result == nil {
		return ""
	}
	var out strings.Builder
	for _, law := range e.laws() {
		for _, o := range e.result.Outcomes {
			for _, c := range o.Closest {
				if c.Law == law {
					out.WriteString(item(fmt.Sprintf("%s, under %s, seed %d: %s", law, o.Family, c.Seed, c.Words)))
				}
			}
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n## Closest calls where nothing broke\n\n" + out.String()
}
