package site

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed" // the worker's script
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios/play"
)

//go:embed worker.js
var workerScript []byte

const (
	modulePath = "github.com/fencepost-sim/fencepost"
	worker     = modulePath + "/scenarios/play/worker"
)

// FileNames are those of the site.
var FileNames = []string{"index.html", "worker.js", "fencepost.wasm.gz"}

// Files are the page, which begins with a state, the worker that answers it, and the simulator as the worker loads it.
// The error is that of the go command, in its own words.
func Files(ctx context.Context, start play.State) ([]output.File, error) {
	program, err := compiled(ctx)
	if err != nil {
		return nil, err
	}
	root, err := run(ctx, "", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	// the script by which Go's own runtime is at home in a browser comes with the go command that compiled
	script, err := os.ReadFile(filepath.Join(strings.TrimSpace(root), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	var packed, page bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = z.Write(program); err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, err
	}
	if err := (&play.Page{Start: start}).Write(&page); err != nil {
		return nil, err
	}
	var files []output.File
	for i, content := range [][]byte{page.Bytes(), append(script, workerScript...), packed.Bytes()} {
		files = append(files, output.File{Name: FileNames[i], Content: content})
	}
	return files, nil
}

// compiled is the simulator as WebAssembly: of the source in which the command is called, or else of the version that
// this program is.
func compiled(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "fencepost-play-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source := ""
	if module, err := run(ctx, "", "list", "-m"); err != nil || strings.TrimSpace(module) != modulePath {
		source = dir
		if err := fetch(ctx, dir); err != nil {
			return nil, err
		}
	}
	out := filepath.Join(dir, "fencepost.wasm")
	// without inlining a sixth less is sent
	if _, err := run(ctx, source, "build", "-trimpath", "-gcflags=all=-l", "-ldflags=-s -w", "-o", out,
		worker); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// fetch makes a module of a folder that has the source of this program's version.
func fetch(ctx context.Context, dir string) error {
	info, known := debug.ReadBuildInfo()
	if !known || info.Main.Path != modulePath || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return errors.New("this fencepost was built of a folder with its source: call it there, for --static " +
			"compiles the simulator")
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module site\n"), 0o666); err != nil {
		return err
	}
	_, err := run(ctx, dir, "get", worker+"@"+info.Main.Version)
	return err
}

// run runs the go command for a browser.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	switch err := c.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("the go command is not there: --static compiles the simulator, and needs it")
	case err != nil:
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}
