package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios/play"
	"github.com/fencepost-sim/fencepost/scenarios/play/site"
)

// playJob is one call of play.
type playJob struct {
	target string // the scenario's name or file, or a plan; empty: that of the page's own beginning
	open   bool
	static string
}

// firstPlayed is the scenario that the page begins with, unless another is named.
const firstPlayed = "kleppmann-gc-pause"

func newPlay() *cobra.Command {
	j := &playJob{}
	c := &cobra.Command{
		Use:               "play [SCENARIO|FILE|PLAN]",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Move faults by hand in a browser, and see the verdict follow",
		Long: `Serves one page on this machine alone: the timeline of a run, on which faults are dragged, pulled,
added and taken away, beside its verdict, its settings and the guided tour of the debate about Redlock.
What is on the page can be taken along: as a link that holds all of it, as a scenario, as a plan and as
a Go test. The address has a secret in it, and is printed. Ctrl-C ends it.

With --static the same page is written to a folder, with the simulator as WebAssembly, for any host of
files. It is compiled then, so that the go command is needed.`,
		Example: `  fencepost play
  fencepost play my-lock.yaml --open
  fencepost play --static site`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				j.target = args[0]
			}
			return j.run(c.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&j.open, "open", false, "open the page in a browser")
	c.Flags().StringVar(&j.static, "static", "", "write the page to `DIR`, for a host of files, and end")
	return c
}

func (j *playJob) run(out io.Writer) error {
	start, err := j.start()
	if err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	if j.static != "" {
		sizes, err := site.Write(ctx, j.static, start)
		if err != nil {
			return err
		}
		for _, s := range sizes {
			fmt.Fprintf(out, "%-24s %9d bytes\n", filepath.Join(j.static, s.Name), s.Bytes)
		}
		return nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &playServer{secret: rand.Text(), host: listener.Addr().String(), job: j, start: start}
	address := "http://" + s.host + "/" + s.secret + "/"
	fmt.Fprintf(out, "%s\nCtrl-C ends it.\n", address)
	if j.open {
		if err := openInBrowser(address); err != nil {
			fmt.Fprintf(out, "no browser can be opened (%s): open the address yourself\n", err)
		}
	}
	server := &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// start is the state that the page begins with.
func (j *playJob) start() (play.State, error) {
	if j.target == "" {
		j.target = firstPlayed
	}
	s, err := task.Open(j.target)
	if err == nil {
		return play.Of(s)
	}
	plan, noPlan := parsePlan(j.target)
	if noPlan != nil {
		return play.State{}, err
	}
	if s, err = task.OpenFrom(filepath.Dir(j.target), plan.Scenario); err != nil {
		return play.State{}, fmt.Errorf("%s: %w", j.target, err)
	}
	if err := checkPlan(j.target, plan, s); err != nil {
		return play.State{}, err
	}
	return play.With(s, plan)
}

// playServer answers the page that knows its secret, and no other.
type playServer struct {
	secret string
	host   string
	job    *playJob

	sync.Mutex
	start play.State
}

// mostAsked bounds the size of a request, in bytes: twice that of the largest scenario, whose text is escaped in it.
const mostAsked = 4 << 20

// ServeHTTP serves the page, and what it asks. A host that is not the server's own is that of a page elsewhere, whose
// name leads here.
func (s *playServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Host != s.host:
		http.Error(w, "this server answers to "+s.host, http.StatusMisdirectedRequest)
	case r.Method == http.MethodGet && r.URL.Path == "/"+s.secret+"/":
		s.page(w)
	case r.Method == http.MethodPost && r.URL.Path == "/"+s.secret+"/ask":
		s.ask(w, r)
	default:
		http.NotFound(w, r)
	}
}

// page serves the page. A file is read anew, so that the page shows it as it is when it is loaded again; one that is
// gone, or cannot be read now, is shown as it last was.
func (s *playServer) page(w http.ResponseWriter) {
	s.Lock()
	defer s.Unlock()
	if now, err := s.job.start(); err == nil {
		s.start = now
	} else if !errors.Is(err, fs.ErrNotExist) {
		w.Header().Set("Warning", `199 - "the file cannot be read now: what is shown is how it was"`)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Frame-Options", "DENY")
	if err := (&play.Page{Start: s.start, Served: true}).Write(w); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// ask answers a request in lines of JSON: what is done so far, then the answer.
func (s *playServer) ask(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostAsked))
	if err != nil {
		http.Error(w, "the request cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	answer := play.Ask(r.Context(), body, func(p play.Progress) {
		lines.Encode(map[string]play.Progress{"progress": p})
		flush.Flush()
	})
	lines.Encode(map[string]json.RawMessage{"answer": answer})
}

// openInBrowser opens an address by the system's own command.
func openInBrowser(address string) error {
	command := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open"}
	}
	return exec.Command(command[0], append(command[1:], address)...).Start()
}

