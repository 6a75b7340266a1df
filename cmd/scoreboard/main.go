// Command scoreboard updates the folder scenarios/scoreboard. It explores each row whose library is installed, and
// writes the results and the pages. Run it from the top of the repository, with row names as arguments. Without
// arguments, it explores all rows.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/safefile"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/scoreboard"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// room is the folder that contains the scoreboard.
const room = "scenarios/scoreboard"

// mostTries is the maximum number of runs used to shrink one finding.
const mostTries = 300

func main() {
	names := os.Args[1:]
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "-") }) {
		fmt.Fprintln(os.Stderr, "usage: go run ./cmd/scoreboard [NAME ...], at the top of the repository")
		os.Exit(2)
	}
	ctx, stop := output.Interruptible()
	defer stop()
	if err := renew(ctx, names, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// renew explores the scoreboard rows with the given names, or all rows. It writes their results, and the pages
// generated from all results.
func renew(ctx context.Context, names []string, out io.Writer) error {
	rows, err := scoreboard.Rows(os.DirFS(room))
	if err != nil {
		return fmt.Errorf("%w\nrun this command at the top of the repository", err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(rows, func(r scoreboard.Row) bool { return r.Name == name }) {
			return fmt.Errorf("there is no row %s: %s/libraries has no such folder", name, room)
		}
	}
	dir, err := safefile.Open(room)
	if err != nil {
		return err
	}
	defer dir.Close()
	for i := range rows {
		r := &rows[i]
		if len(names) > 0 && !slices.Contains(names, r.Name) {
			continue
		}
		switch err := run(ctx, r, dir, out); {
		case ctx.Err() != nil:
			return errors.New("interrupted: the rows before this one were renewed, but not their pages")
		case err != nil:
			fmt.Fprintf(out, "%s keeps its result: %v\n", r.Name, err)
		}
	}
	return pages(dir)
}

// run writes a row's scenarios, explores them and writes the result.
func run(ctx context.Context, r *scoreboard.Row, dir *safefile.Folder, out io.Writer) error {
	for _, f := range scoreboard.Families {
		if f.Applies(r) {
			if err := dir.Write(path.Join(r.Folder(), f.Name+".yaml"), []byte(r.Scenario(f))); err != nil {
				return err
			}
		}
	}
	for n := range r.Aimed {
		name, text := r.AimedScenario(n)
		if err := dir.Write(path.Join(r.Folder(), name), []byte(text)); err != nil {
			return err
		}
	}
	if r.Client == "" {
		return errors.New(r.NotTried)
	}
	x := &exploration{row: r, dir: dir, result: scoreboard.Result{Version: r.Version,
		Date: time.Now().Format(time.DateOnly)}}
	for _, f := range scoreboard.Families {
		if !f.Applies(r) {
			continue
		}
		if err := x.family(ctx, f.Name); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		last := x.result.Outcomes[len(x.result.Outcomes)-1]
		fmt.Fprintf(out, "%s, %s: %d runs, broke %v\n", r.Name, f.Name, last.Runs, last.Broke)
	}
	return x.write()
}

// exploration explores one row of the scoreboard.
type exploration struct {
	row    *scoreboard.Row
	dir    *safefile.Folder
	result scoreboard.Result
	files  map[string][]byte // of the findings, by their paths relative to the folder
}

// family explores the scoreboard row's lock under one family of faults. It shrinks each finding that no earlier family
// has shown.
func (x *exploration) family(ctx context.Context, name string) error {
	file := filepath.Join(room, filepath.FromSlash(x.row.Folder()), name+".yaml")
	s, guest, err := task.OpenWith(file, "", x.row.Client)
	if err != nil {
		return err
	}
	defer guest.Close()
	defer context.AfterFunc(ctx, guest.Stop)()
	if s.Within, err = search.Undisturbed(s); err != nil { // once, although several sources of plans need it
		return err
	}
	e, err := search.NewExploration(s, 1, x.row.Seeds, search.Whole)
	if err != nil {
		return err
	}
	if err := errors.Join(e.Run(ctx, s, 0, nil), ctx.Err()); err != nil {
		return err
	}
	plans, err := e.Plans(s)
	if err != nil {
		return err
	}
	outcome := scoreboard.OutcomeOf(name, e, s.Promise)
	for _, f := range e.Findings {
		if !s.Promise.Covers(f.Law, f.Cause) || x.known(f) {
			continue
		}
		small, err := search.Shrink(ctx, s, plans.Plan(f.First), search.Violation{Law: f.Law,
			Cause: f.Cause}, mostTries)
		if err == nil {
			err = x.keep(f, small, guest)
		}
		if differs := (*search.UnrepeatedError)(nil); errors.As(err, &differs) {
			outcome.Unstable++
		} else if err != nil {
			return err
		}
	}
	x.result.Outcomes = append(x.result.Outcomes, outcome)
	return ctx.Err() // the last finding may not be shrunk to the end
}

// known reports whether a finding with the same law and cause has already been shrunk.
func (x *exploration) known(f campaign.Finding) bool {
	return slices.ContainsFunc(x.result.Findings, func(k scoreboard.Finding) bool {
		return k.Law == f.Law && k.Cause == f.Cause.String()
	})
}

func (x *exploration) keep(f campaign.Finding, small *search.Shrunk, guest *task.Guest) error {
	explained, err := small.Explained()
	if err != nil {
		return err
	}
	found := scoreboard.Finding{Law: f.Law, Cause: f.Cause.String(), Headline: explained.Object().Headline,
		Minimal: small.Ending == campaign.Complete, Folder: search.Slug(f)}
	for _, fault := range small.Plan.Faults {
		found.Plan = append(found.Plan, fault.String())
	}
	x.result.Findings = append(x.result.Findings, found)
	if x.files == nil {
		x.files = map[string][]byte{}
	}
	file := path.Join(room, x.row.Folder(), found.Folder, search.PlanFile)
	x.files[path.Join(found.Folder, search.PlanFile)] = small.PlanText("fencepost replay " + file + guest.With())
	x.files[path.Join(found.Folder, search.ScenarioFile)] = small.Scenario.Text()
	return nil
}

// write replaces the row's result and findings.
func (x *exploration) write() error {
	folder := x.row.Folder()
	for _, file := range []string{search.PlanFile, search.ScenarioFile} {
		old, err := fs.Glob(os.DirFS(room), path.Join(folder, "*", file))
		if err != nil {
			return err
		}
		for _, name := range old {
			if err := x.dir.Remove(name); err != nil {
				return err
			}
		}
	}
	text, err := x.result.Encode()
	if err != nil {
		return err
	}
	for name, text := range x.files {
		if err := x.dir.Write(path.Join(folder, name), text); err != nil {
			return err
		}
	}
	return x.dir.Write(path.Join(folder, "result.json"), text)
}

// pages writes the Go libraries' results and all pages.
func pages(dir *safefile.Folder) error {
	text, err := scoreboard.Collect(os.DirFS("scenarios/locktest/libraries"))
	if err == nil {
		err = dir.Write(scoreboard.GoResults, text)
	}
	if err != nil {
		return err
	}
	board, err := scoreboard.New(os.DirFS(room))
	if err != nil {
		return err
	}
	for name, page := range board.Pages() {
		if err := dir.Write(name, []byte(page)); err != nil {
			return err
		}
	}
	return nil
}
