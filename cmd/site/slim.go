package site

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// A slimmer describes how to remove the parts of a library that no simulation uses. The browser simulator is linked
// with the reduced copy.
type slimmer struct {
	module string
	within string                 // the path of a package within the module
	change func(dir string) error // changes the copy in dir
}

var slimmers = []slimmer{
	{"google.golang.org/protobuf", "proto", withoutText},
	{"github.com/alicebob/miniredis/v2", "server", withoutTLS},
}

// withoutText removes the code that formats protobuf descriptors as text. That code looks up methods by name, which
// forces the linker to keep every method of every type.
func withoutText(dir string) error {
	const textless = `package descfmt

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

func FormatList(fmt.State, rune, interface{ Len() int })        {}
func FormatDesc(fmt.State, rune, protoreflect.Descriptor) {}
`
	text := filepath.Join(dir, "internal", "descfmt", "stringer.go")
	return errors.Join(os.Remove(text), os.WriteFile(text, []byte(textless), 0o666))
}

// withoutTLS removes TLS from miniredis. This also removes the elliptic curve tables, which hardly compress at all.
func withoutTLS(dir string) error {
	const refusing = `package tls

import (
	"errors"
	"net"
)

type Config struct{}

func Listen(string, string, *Config) (net.Listener, error) { return nil, errors.ErrUnsupported }
func Dial(string, string, *Config) (net.Conn, error)       { return nil, errors.ErrUnsupported }
`
	for _, folder := range []string{".", "server", "proto"} {
		files, err := filepath.Glob(filepath.Join(dir, folder, "*.go"))
		if err != nil {
			return err
		}
		for _, name := range files {
			code, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			changed := strings.ReplaceAll(string(code), `"crypto/tls"`, `"github.com/alicebob/miniredis/v2/tls"`)
			if err := os.WriteFile(name, []byte(changed), 0o666); err != nil {
				return err
			}
		}
	}
	stub := filepath.Join(dir, "tls")
	return errors.Join(os.Mkdir(stub, 0o777), os.WriteFile(filepath.Join(stub, "tls.go"), []byte(refusing), 0o666))
}

// slim writes a go.mod to dir: a copy of the source's go.mod that uses the reduced libraries.
func slim(ctx context.Context, source, dir string) (mod string, err error) {
	sourceMod, err := run(ctx, source, "env", "GOMOD")
	if err != nil {
		return "", err
	}
	for _, ending := range []string{".mod", ".sum"} {
		content, err := os.ReadFile(strings.TrimSuffix(sourceMod, ".mod") + ending)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, "slim"+ending), content, 0o666); err != nil {
			return "", err
		}
	}
	mod = filepath.Join(dir, "slim.mod")
	for _, s := range slimmers {
		whole, err := run(ctx, source, "list", "-f", "{{.Module.Dir}}", s.module+"/"+s.within)
		if err != nil {
			return "", err
		}
		lean := filepath.Join(dir, "lean", filepath.FromSlash(s.module))
		if err := os.CopyFS(lean, os.DirFS(whole)); err != nil {
			return "", err
		}
		if err := s.change(lean); err != nil {
			return "", err
		}
		if _, err := run(ctx, source, "mod", "edit", "-replace", s.module+"="+lean, mod); err != nil {
			return "", err
		}
	}
	return mod, nil
}
