package remote

import (
	"flag"
	"io"
	"os"
	"strings"
)

// Flags returns the arguments of this test binary that the processes of its runs must also have, so that a test does
// the same there: the user's own flags, -short, and all arguments after the flags. It omits the flags with which go
// test says what to run and where to write output, and the flags in except: these are for this process only.
func Flags(except ...string) []string { return own(flag.CommandLine, os.Args[1:], except...) }

// own implements Flags. args are the arguments from which the set of flags was parsed.
func own(set *flag.FlagSet, args []string, except ...string) (kept []string) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		name, _, whole := strings.Cut(strings.TrimPrefix(args[0][1:], "-"), "=")
		f := set.Lookup(name)
		if f == nil {
			break
		}
		words := 1
		if b, is := f.Value.(interface{ IsBoolFlag() bool }); !whole && !(is && b.IsBoolFlag()) && len(args) > 1 {
			words = 2
		}
		left := strings.HasPrefix(name, "test.") && name != "test.short"
		for _, other := range except {
			left = left || name == other
		}
		if !left {
			kept = append(kept, args[:words]...)
		}
		args = args[words:]
	}
	return append(kept, args...)
}

// EndWithParent ends this process when its parent process has ended, in whatever way. It notices that because in, this
// process's standard input, is then closed. Code that never lets another goroutine run delays this.
func EndWithParent(in io.Reader) {
	go func() {
		_, _ = io.Copy(io.Discard, in) // nobody sends anything
		os.Exit(1)
	}()
}
