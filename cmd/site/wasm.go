package site

import (
	"bytes"
	"context"
	_ "embed" // the worker's scripts
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios/play"
	"github.com/fencepost-sim/fencepost/scenarios/scoreboard"
	"github.com/fencepost-sim/fencepost/scenarios/temporary"
)

//go:embed worker.js
var workerScript []byte

// unpackScript decompresses the simulator. Browsers can decompress gzip without a script, but the file would be a third
// larger.
//
//go:embed brotli.js
var unpackScript []byte

const (
	modulePath = "github.com/fencepost-sim/fencepost"
	worker     = modulePath + "/scenarios/play/worker"
	packer     = modulePath + "/cmd/site/pack"
)

// inlined lists the packages in which runs spend most of their time. The compiler inlines functions only in these
// packages. Compared to no inlining, this halves the time that a long run takes. Compared to inlining everywhere, it
// makes the program a sixth smaller.
var inlined = []string{"runtime", "internal/runtime/...", modulePath + "/sim", modulePath + "/sim/raft",
	"go.etcd.io/raft/v3"}

// FileNames lists the names of the site's files.
var FileNames = []string{"index.html", "worker.js", "brotli.js", "fencepost.wasm.br", play.Scoreboard}

// Files returns the site's files: the page, the worker that answers the page's requests, the simulator that the worker
// loads, and the page with the scoreboard of libraries. The page starts in the given state. If the go command fails,
// the error includes its output.
func Files(ctx context.Context, start play.State) ([]output.File, error) {
	packed, err := simulator(ctx)
	if err != nil {
		return nil, err
	}
	root, err := run(ctx, "", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	// The script that Go programs need in a browser comes with the Go distribution that compiled the simulator.
	script, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	if err := (&play.Page{Start: start}).Write(&page); err != nil {
		return nil, err
	}
	board, err := boardPage()
	if err != nil {
		return nil, err
	}
	var files []output.File
	for i, content := range [][]byte{page.Bytes(), append(script, workerScript...), unpackScript, packed, board} {
		files = append(files, output.File{Name: FileNames[i], Content: content})
	}
	return files, nil
}

// boardPage returns the scoreboard page.
func boardPage() ([]byte, error) {
	board, err := scoreboard.New(scoreboard.Files())
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = board.Document().HTML(&page, play.Scoreboard)
	return page.Bytes(), err
}

// simulator returns the simulator as compressed WebAssembly. If the current folder is in this module, it compiles the
// source there; otherwise it compiles the source of the version that this program was built from.
func simulator(ctx context.Context) ([]byte, error) {
	folder, err := temporary.New()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	dir := folder.Path()
	source := ""
	if module, err := run(ctx, "", "list", "-m"); err != nil || module != modulePath {
		source = filepath.Join(dir, "site")
		if err := fetch(ctx, source); err != nil {
			return nil, err
		}
	}
	mod, err := slim(ctx, source, dir)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "fencepost.wasm")
	build := []string{"build", "-modfile", mod, "-o", program, "-trimpath", "-ldflags=-s -w", "-gcflags=all=-l"}
	for _, hot := range inlined {
		build = append(build, "-gcflags="+hot+"=")
	}
	if _, err := run(ctx, source, append(build, worker)...); err != nil {
		return nil, err
	}
	return packed(ctx, source, dir, program)
}

// packed returns the contents of a file, compressed by the packer, which it compiles for this machine into dir.
func packed(ctx context.Context, source, dir, file string) ([]byte, error) {
	content, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	program := filepath.Join(dir, "pack.exe") // on Windows, only files with such a name can be run
	build := goCommand(ctx, source, runtime.GOOS, runtime.GOARCH, "build", "-o", program, packer)
	if _, err := result(build); err != nil {
		return nil, err
	}
	pack := exec.CommandContext(ctx, program)
	pack.Stdin = content
	return result(pack)
}

// fetch creates a module in a new folder with the source of the version that this program was built from.
func fetch(ctx context.Context, dir string) error {
	info, known := debug.ReadBuildInfo()
	if !known || info.Main.Path != modulePath || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return errors.New("--static compiles the simulator, " +
			"and this fencepost was built from a folder with its source: run it in that folder")
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module site\n"), 0o666); err != nil {
		return err
	}
	_, err := run(ctx, dir, "get", worker+"@"+info.Main.Version, packer+"@"+info.Main.Version)
	return err
}

// run runs the go command with a browser as the target, and returns the command's output without surrounding space.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := result(goCommand(ctx, dir, "js", "wasm", args...))
	return strings.TrimSpace(string(out)), err
}

// goCommand returns a call of the go command in dir that compiles for the given system and processor.
func goCommand(ctx context.Context, dir, system, processor string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "GOWORK=off")
	return c
}

// result runs a command and returns its output. If the command fails, the error includes what it printed to standard
// error.
func result(c *exec.Cmd) ([]byte, error) {
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	switch err := c.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("the go command was not found: install Go, which --static needs to compile the " +
			"simulator")
	case err != nil:
		name := strings.Join(c.Args[:min(2, len(c.Args))], " ")
		return nil, fmt.Errorf("%s: %w\n%s", name, err, strings.TrimSpace(problems.String()))
	}
	return out.Bytes(), nil
}
