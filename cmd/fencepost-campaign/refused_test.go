package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/embedded"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
)

// served starts a server for a test. It returns the path of the file that says how to reach it, and a connection to it.
func served(t *testing.T) (file string, nc *nats.Conn) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "nats")
	s, err := embedded.Start(embedded.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	nc, err = s.Access.Connect("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return filepath.Join(folder, access.FileName), nc
}

func TestCallsThatCannotBe(t *testing.T) {
	t.Parallel()
	file, nc := served(t)
	dir := t.TempDir()
	if _, err := queue.Create(t.Context(), nc, "there", json.RawMessage(`{"of":"another program"}`), nil,
		time.Second); err != nil {
		t.Fatal(err)
	}
	const lock = "kleppmann-gc-pause"
	for want, args := range map[string][]string{
		"needs scenarios, by name or file, or --corpus": {"run"},
		"--compare runs its own scenarios":              {"run", "--compare", lock},
		"--compare cannot be used with --advise":        {"run", lock, "--advise", "--compare"},
		"--seed cannot be used with --compare":          {"run", "--compare", "--seed", "2"},
		"--vary cannot be used with an exploration":     {"run", lock, "--vary", "ttl=1s,2s"},
		"sweep needs something to vary":                 {"run", lock, "--sweep"},
		`unknown key "tll" (did you mean "ttl"?)`:       {"run", lock, "--sweep", "--vary", "tll=1s,2s"},
		"--seeds must be at most 1000000 with --advise": {"run", lock, "--advise", "--seeds", "1000001"},
		"--until-rate cannot be used with --sweep": {"run", lock, "--sweep", "--vary", "ttl=1s,2s", "--until-rate",
			"0.5"},
		"neither a scenario of the catalog nor a file": {"run", "kleppmann-gc-paus"},
		"--corpus runs its own scenarios":              {"run", "--corpus", lock},
		"--seeds must be at least 1":                   {"run", lock, "--seeds", "0"},
		"--faults cannot be used with an exploration":  {"run", lock, "--faults", "2"},
		"--seeds cannot be used with --verify":         {"run", lock, "--verify", "--seeds", "9"},
		"--faults must be 0 to 3, not 4":               {"run", lock, "--verify", "--faults", "4"},
		"--sound must be at least":                     {"run", "--corpus", "--sound", "3"},
		"--starts must be at least 1":                  {"run", "--corpus", "--starts", "0"},
		"--starts cannot be used with an exploration":  {"run", lock, "--starts", "8"},
		"too few seeds: 9 searches of 5 seeds each, a million or more seeds apart": {"run", "--corpus", "--starts",
			"9", "--seeds",
			"5", "--seed", "18446744073705000000"},
		"--until-rate must be at least 1e-15 and below 1":  {"run", lock, "--until-rate", "2"},
		"--patience must be at least 1s":                   {"run", lock, "--patience", "1ms"},
		"both named " + lock:                               {"run", lock, lock},
		"--json, --junit and --html can only be used with": {"run", lock, "fenced-gc-pause", "--json"},
		"--listen cannot be used with --nats, --access": {"start", lock, "--access",
			file, "--listen", "127.0.0.1:0"},
		"invalid campaign name \"Mine\": use at most 63": {"run", lock, "--name", "Mine"},
		"must be on the loopback interface":              {"run", lock, "--serve=0.0.0.0:0"},
		"--workers must be 1 to 4096, not -1":            {"work", "--access", file, "--workers", "-1"},
		"(did you mean \"--seed\"?)":                     {"run", lock, "--sead", "1"},
		"name the campaign's server with --nats URL or":  {"work"},
		"there is no campaign in the folder nowhere":     {"report", "--out", "nowhere"},
		"no NATS server answers at nats://127.0.0.1:1":   {"work", "--nats", "nats://127.0.0.1:1"},
		"no NATS server answers at nats://127.0.0.1:2":   {"start", lock, "--nats", "nats://127.0.0.1:2"},
		"campaign elsewhere: no such campaign":           {"status", "--access", file, "--name", "elsewhere"},
		"already exists and runs something else": {"start", lock, "--access",
			file, "--name", "there"},
		"campaign there was created by another version of this program": {"report", "--access", file,
			"--name", "there"},
	} {
		got := call(t, campaignOf(t, dir, args...))
		if got.code != exitBadInput || !strings.Contains(got.problems, want) {
			t.Errorf("%v: exit %d: %s\nwant: %s", args, got.code, got.problems, want)
		}
		for _, said := range strings.SplitAfter(got.problems, "see: ")[1:] {
			if !strings.HasPrefix(said, "fencepost ") || strings.Count(got.problems, "see: ") > 1 {
				t.Errorf("%v: the help should be named once, by the command to type: %s", args, got.problems)
			}
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "nowhere")); err == nil {
		t.Errorf("a folder was made: %v", entries)
	}
}

// The server turns away a worker whose program differs from the one that created the campaign. The status command shows
// which worker was turned away, and why.
func TestWorkersThatRunOtherwiseAreRefused(t *testing.T) {
	t.Parallel()
	file, nc := served(t)
	begin := campaignOf(t, t.TempDir(), "start", "kleppmann-gc-pause", "--access", file, "--name", "begun")
	if err := begin.Start(); err != nil {
		t.Fatal(err)
	}
	defer kill(begin)
	o := orderOf(t, nc)
	text := []byte("name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\n")
	for name, change := range map[string]struct {
		of   func(*order)
		want string
	}{
		"version": {func(o *order) { o.Version = "v9.9.9" }, "was created by fencepost-campaign v9.9.9, but this is "},
		"digest": {func(o *order) { o.Entries[0].Probes[1].Digest = "0123456789abcdef" },
			"kleppmann-gc-pause behaves differently on this machine: seed 2 has the digest "},
		"system": {func(o *order) { o.Entries[0].Kind, o.Entries[0].System = "package", "plan9/mips" },
			"its test binary is for plan9/mips, but this machine is " + system},
		"kind": {func(o *order) { o.Entries[0].Kind = "divination" }, `unknown kind of work "divination"`},
		"file": {func(o *order) { o.Entries[0].File = "elsewhere" }, "has no file elsewhere"},
		"text": {func(o *order) { o.Entries[0].File = "text" },
			"behaves differently on this machine: seed 1 has the digest "},
	} {
		other := o
		other.Entries = append([]entry(nil), o.Entries...)
		other.Entries[0].Probes = append([]probe(nil), o.Entries[0].Probes...)
		change.of(&other)
		what, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		c, err := queue.Open(t.Context(), nc, "begun")
		if err != nil {
			t.Fatal(err)
		}
		content, err := c.File(t.Context(), o.Entries[0].File)
		if err != nil {
			t.Fatal(err)
		}
		c, err = queue.Create(t.Context(), nc, name, what, map[string][]byte{o.Entries[0].File: content, "text": text},
			time.Second)
		if err != nil {
			t.Fatal(err)
		}
		got := call(t, campaignOf(t, t.TempDir(), "work", "--access", file, "--name", name, "--workers", "1"))
		if got.code != exitBadInput || !strings.Contains(got.problems, change.want) {
			t.Errorf("%s: exit %d: %s\nwant: %s", name, got.code, got.problems, change.want)
		}
		seen := call(t, campaignOf(t, t.TempDir(), "status", "--access", file, "--name", name))
		if text := strings.Join(strings.Fields(seen.out), " "); !strings.Contains(text, "refused: ") ||
			!strings.Contains(text, strings.Fields(change.want)[0]) {
			t.Errorf("%s: status says\n%s%s", name, seen.out, seen.problems)
		}
		if state, err := c.State(t.Context()); err != nil || len(state.Workers) != 1 || state.Stored.Parts > 0 {
			t.Errorf("%s: %+v, %v", name, state, err)
		}
	}
}

// A campaign without workers stays incomplete, and both the report and its exit code say so. Once a worker has finished
// the campaign, the report is complete.
func TestAnIncompleteCampaignIsNeverCalledComplete(t *testing.T) {
	t.Parallel()
	file, nc := served(t)
	dir := t.TempDir()
	begin := campaignOf(t, dir, "start", "fenced-gc-pause", "--seeds", "64", "--access", file,
		"--name", "half", "--out",
		"x")
	if err := begin.Start(); err != nil {
		t.Fatal(err)
	}
	var c *queue.Campaign
	until(t, "the campaign half", func() bool {
		names, err := queue.List(t.Context(), nc)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) > 0 {
			c, _ = queue.Open(t.Context(), nc, "half")
		}
		return c != nil
	})
	// Kill a worker as soon as a result has been stored.
	stored := make(chan *nats.Msg, 1000)
	sub, err := nc.ChanSubscribe("fencepost.half.parts.>", stored)
	if err != nil {
		t.Fatal(err)
	}
	w := worker1(t, dir, file, "half")
	<-stored
	kill(w)
	sub.Unsubscribe()
	got := call(t, campaignOf(t, dir, "report", "--access", file, "--out", "y"))
	for _, want := range []string{"not finished", " of 64 seeds were run", "undecided"} {
		if !strings.Contains(got.out+got.problems, want) || got.code != exitUndecided {
			t.Errorf("exit %d, and not %q:\n%s%s", got.code, want, got.out, got.problems)
		}
	}
	if state, err := c.State(t.Context()); err != nil || state.Finished {
		t.Errorf("%+v, %v", state, err)
	}
	if w := call(t, campaignOf(t, dir, "work", "--access", file)); w.code != 0 {
		t.Error(w.problems)
	}
	want, files := inOneProcess(t, "explore", "fenced-gc-pause", "--seeds", "64")
	if begin.Wait(); begin.ProcessState.ExitCode() != want.code {
		t.Errorf("start has ended with %s, and not %d", begin.ProcessState, want.code)
	}
	if got := call(t, campaignOf(t, dir, "report", "--access", file, "--out", "x")); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	same(t, filesIn(t, filepath.Join(dir, "x")), files)
}

// orderOf waits until the "begun" campaign exists, and returns its order.
func orderOf(t *testing.T, nc *nats.Conn) (o order) {
	t.Helper()
	until(t, "the order of the campaign begun", func() bool {
		c, err := queue.Open(t.Context(), nc, "begun")
		if err == nil {
			err = json.Unmarshal(c.What, &o)
		}
		if err != nil && !strings.Contains(err.Error(), queue.ErrNone.Error()) {
			t.Fatal(err)
		}
		return o.Version != ""
	})
	return o
}
