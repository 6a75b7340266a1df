// Package site writes the page on which a reader plays for a host of files: the page, and the simulator as WebAssembly
// that answers it in a worker.
//
// Goals: nothing is sent anywhere; what is compiled is the source of the program that writes it. Non-goals: what the page
// does (play).
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

	"github.com/fencepost-sim/fencepost/scenarios/play"
)

// Size is how large a file of the site is, as it is sent.
type Size struct {
	Name  string
	Bytes int
}

//go:embed worker.js
var workerScript []byte

const (
	modulePath = "github.com/fencepost-sim/fencepost"
	worker     = modulePath + "/scenarios/play/worker"
)

// Write writes the site to a folder, which is made if it is not there. The error is that of the go command, in its own
// words, or of writing; nothing is left half-written.
func Write(ctx context.Context, dir string, start play.State) ([]Size, error) {
	program, err := compiled(ctx)
	if err != nil {
		return nil, err
	}
	goScript, err := wasmExec(ctx)
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
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var sizes []Size
	for _, f := range []struct {
		name string
		text []byte
	}{{"fencepost.wasm.gz", packed.Bytes()}, {"worker.js", append(goScript, workerScript...)},
		{"index.html", page.Bytes()}} {
		if err := replace(filepath.Join(dir, f.name), f.text); err != nil {
			return nil, err
		}
		sizes = append(sizes, Size{f.name, len(f.text)})
	}
	return sizes, nil
}

// replace writes a file beside its place and moves it there.
func replace(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o666); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// compiled is the simulator as WebAssembly, of the version of this program; of one that was built in its own folder,
// what stands there now.
func compiled(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "fencepost-play-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "fencepost.wasm")
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", out, worker}
	if version := released(); version != "" {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module site\n"), 0o666); err != nil {
			return nil, err
		}
		if _, err := run(ctx, dir, "get", worker+"@"+version); err != nil {
			return nil, err
		}
	} else {
		dir = ""
	}
	if _, err := run(ctx, dir, args...); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// released is the version of this program; empty if it was built from a folder.
func released() string {
	info, known := debug.ReadBuildInfo()
	if !known || info.Main.Path != modulePath || info.Main.Version == "(devel)" ||
		strings.Contains(info.Main.Version, "+dirty") {
		return ""
	}
	return info.Main.Version
}

// wasmExec is the script by which Go's own runtime is at home in a browser. It comes with the go command that compiled.
func wasmExec(ctx context.Context) ([]byte, error) {
	root, err := run(ctx, "", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(root), "lib", "wasm", "wasm_exec.js"))
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
