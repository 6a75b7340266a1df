//go:build linux && amd64

package traced

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// runnable checks whether a file is a program that can run in virtual time. If it is not, the error says why and what
// to do. dir is the folder that path is relative to.
func runnable(path, dir string) error {
	whole := path
	if !filepath.IsAbs(whole) {
		whole = filepath.Join(dir, whole)
	}
	info, err := os.Stat(whole)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no file %s: name the program with its path, or one that is in PATH", whole)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name the program in it", whole)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable: "+
			"name its interpreter before it, such as /usr/bin/python3 %s, or chmod +x it", whole, path)
	}
	return readable(whole)
}

// readable returns an error if an executable file does not contain code for this machine's architecture.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // a file may be executable without being readable
	}
	defer f.Close()
	head := make([]byte, 20)
	n, _ := io.ReadFull(f, head)
	switch text := string(head[:n]); {
	case strings.HasPrefix(text, "#!"):
		return nil
	case !strings.HasPrefix(text, elf.ELFMAG) || n < len(head):
		return fmt.Errorf("%s is neither a program for Linux nor a script that begins with #!: "+
			"build it for Linux on x86-64, or name its interpreter before it", path)
	}
	class, machine := elf.Class(head[elf.EI_CLASS]), elf.Machine(le.Uint16(head[18:]))
	if class != elf.ELFCLASS64 || machine != elf.EM_X86_64 {
		return fmt.Errorf("%s is built for %s (%s): build it for 64-bit x86-64: nothing else runs in virtual time",
			path, strings.TrimPrefix(machine.String(), "EM_"), strings.TrimPrefix(class.String(), "ELFCLASS"))
	}
	return nil
}
