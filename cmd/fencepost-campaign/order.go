package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// order describes what a campaign runs. It is stored on the server.
type order struct {
	Version string  `json:"version"` // version of the program that created the order
	Rules   rules   `json:"rules"`
	Entries []entry `json:"entries"` // at least one; they run one after the other
}

// entry is an item that a campaign runs, such as a scenario.
type entry struct {
	Kind string `json:"kind"` // the name of a kind in kinds
	Name string `json:"name"` // unique within the order
	Path string `json:"path"` // path as the user gave it; empty for a scenario of the catalog
	// name of the campaign file that contains the scenario or test binary
	File string `json:"file,omitempty"`
	// platform that the file can run on, such as linux/amd64; if it is empty, the file can run on any platform
	System  string          `json:"system,omitempty"`
	Options json.RawMessage `json:"options"` // options, which depend on the kind
	Probes  []probe         `json:"probes"`
}

// probe identifies a run's result by a digest. Two programs compare such digests to check that they give the same
// results.
type probe struct {
	Seed   uint64 `json:"seed"`
	Digest string `json:"digest"`
}

// system is this program's platform.
const system = runtime.GOOS + "/" + runtime.GOARCH

// version returns this program's version. If the program was built from modified or unversioned files, the version
// contains a checksum of the program.
func version() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" && !strings.Contains(info.Main.Version,
		"+dirty") {
		return info.Main.Version, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("(devel) %x", sum.Sum(nil)[:6]), nil
}

// probes runs a scenario with each of the given seeds, and returns digests of the results (see probe). If the
// scenario's mix can draw faults, each seed draws its own. Otherwise the runs use the scenario's own faults.
func probes(s *scenarios.Scenario, seeds ...uint64) (all []probe, err error) {
	draw := s.Plan
	if plans, err := search.NewPlans(s); err == nil {
		draw = plans.Plan
	}
	runner := scenarios.NewRunner(s)
	for _, seed := range seeds {
		result, err := runner.Run(draw(seed))
		var failed *scenarios.CodeError
		if err != nil && !errors.As(err, &failed) { // if the code of a lock fails, it fails in every program
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		all = append(all, probe{seed, fmt.Sprintf("%016x", uint64(result.Digest))})
	}
	return all, nil
}

// job is a campaign with its scenarios and packages opened in this process.
type job struct {
	*queue.Campaign
	order    order
	subjects []subject // one for each entry
	binaries []string  // checksums of the test binaries that may be executed here
}

// join opens a campaign, and checks that it was created by this same program. If it was not, join returns both the
// campaign and an error.
func (p *place) join(ctx context.Context) (*job, error) {
	name := p.name
	c, err := queue.Open(ctx, p.nc, name)
	if err != nil {
		return nil, err
	}
	c.Notice = p.notice
	j := &job{Campaign: c, binaries: p.access.Binaries}
	err = json.Unmarshal(c.What, &j.order)
	if err == nil && len(j.order.Entries) == 0 {
		err = errors.New("it does not name anything to run")
	}
	if err != nil {
		return j, fmt.Errorf("campaign %s was created by another version of this program: %w", name, err)
	}
	own, err := version()
	if err != nil {
		return j, err
	}
	if own != j.order.Version {
		return j, fmt.Errorf("campaign %s was created by fencepost-campaign %s, but this is %s: use the same version",
			name, j.order.Version, own)
	}
	for _, e := range j.order.Entries {
		s, err := j.open(ctx, e)
		if err != nil {
			return j, fmt.Errorf("%s: %w", e.Name, err)
		}
		j.subjects = append(j.subjects, s)
	}
	return j, nil
}

// open opens an entry's subject.
func (j *job) open(ctx context.Context, e entry) (subject, error) {
	k := kindOf(e.Kind)
	if k == nil {
		return nil, fmt.Errorf("unknown kind of work %q", e.Kind)
	}
	if e.System != "" && e.System != system {
		return nil, fmt.Errorf("its test binary is for %s, but this machine is %s", e.System, system)
	}
	var content []byte
	if e.File != "" {
		var err error
		if content, err = j.File(ctx, e.File); err != nil {
			return nil, err
		}
	}
	if sum := sumOf(content); k.executes && !slices.Contains(j.binaries, sum) {
		return nil, fmt.Errorf("campaign %s runs a test binary that was not built on this machine: "+
			"if you trust its author and this is its SHA-256, allow it with --binary %s", j.Name, sum)
	}
	return k.open(e, content)
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// binaries returns the checksums of the test binaries among the entries' files.
func binaries(entries []entry, files map[string][]byte) (sums []string) {
	for _, e := range entries {
		if kindOf(e.Kind).executes {
			sums = append(sums, sumOf(files[e.File]))
		}
	}
	return sums
}

// prove checks that this program gives the same results as the program that created the campaign. It repeats all
// entries' probes: the results of these runs were stored when the campaign was created. It returns an error for the
// first probe with a different result.
func (j *job) prove() error {
	for i, e := range j.order.Entries {
		var seeds []uint64
		for _, p := range e.Probes {
			seeds = append(seeds, p.Seed)
		}
		own, err := j.subjects[i].probes(seeds...)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		for k, p := range e.Probes {
			if own[k] != p {
				return fmt.Errorf("%s behaves differently on this machine: seed %d has the digest %s here, "+
					"but %s where the campaign was created", e.Name, p.Seed, own[k].Digest, p.Digest)
			}
		}
	}
	return nil
}

func (j *job) close() {
	for _, s := range j.subjects {
		s.close()
	}
}

// between separates an entry's name from its stage's name.
const between = ": "

// search performs all entries' searches.
func (j *job) search(ctx context.Context, d *queue.Director) error {
	d.Rule = func(p queue.Progress) string { return j.stopReason(p) }
	d.Summary = j.summary
	for i, s := range j.subjects {
		if err := s.search(ctx, &staged{d, j.order.Entries[i].Name}); err != nil {
			return fmt.Errorf("%s: %w", j.order.Entries[i].Name, err)
		}
	}
	return nil
}

// staged performs one entry's stages. It prefixes the stage names with the entry's name.
type staged struct {
	*queue.Director
	entry string
}

// Do performs a stage. It puts the entry's name in front of the stage's name.
func (h *staged) Do(ctx context.Context, s campaign.Stage, take func(campaign.Part) error) error {
	s.Name = h.entry + between + s.Name
	return h.Director.Do(ctx, s, take)
}

// whole implements campaign.Hands for searches that need complete stages. If some of a stage's results are missing, it
// interrupts the search.
type whole struct {
	*staged
	end context.CancelFunc
}

// Do performs a stage. It ends the search if some results are missing.
func (h whole) Do(ctx context.Context, s campaign.Stage, take func(campaign.Part) error) error {
	err := h.staged.Do(ctx, s, take)
	if p := h.Progress().Stage(); err == nil && p.Done < p.Size {
		h.end()
	}
	return err
}

// worker performs runs for any of the campaign's entries (such as a scenario).
type worker struct {
	j   *job
	all []campaign.Worker // one for each entry
}

// workers creates a worker for each entry.
func workers(j *job) (all []campaign.Worker, err error) {
	for i, s := range j.subjects {
		w, err := s.worker()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.order.Entries[i].Name, err)
		}
		all = append(all, w)
	}
	return all, nil
}

// Make performs the jobs at the given range of positions in a stage (see campaign.Stage), and returns their results.
func (w *worker) Make(ctx context.Context, s campaign.Stage, first, size uint64) ([]byte, error) {
	name, stage, _ := strings.Cut(s.Name, between)
	for i, e := range w.j.order.Entries {
		if e.Name == name {
			s.Name = stage
			return w.all[i].Make(ctx, s, first, size)
		}
	}
	return nil, fmt.Errorf("the campaign has no entry %q", name)
}
