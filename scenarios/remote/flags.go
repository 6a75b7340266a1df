package remote

import (
	"flag"
	"io"
	"os"
	"strings"
)

// Flags returns the arguments of this test binary that must also be passed to the processes that execute its runs, so
// that a test behaves the same there. These are the user's own flags, -short, and all arguments after the flags. It
// omits flags that tell go test what to run and where to write output, and the flags in except, which are meant only
// for this process.
func Flags(except ...string) []string { return own(flag.CommandLine, os.Args[1:], except...) }

// own implements Flags. The flags in set were parsed from args.
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

// EndWithParent makes this process end when its parent process ends for any reason. in is this process's standard
// input, which is closed when the parent ends. If one goroutine keeps all others from running, the process does not end
// until the others can run again.
func EndWithParent(in io.Reader) {
	go func() {
		_, _ = io.Copy(io.Discard, in) // wait for the end of the input, since the parent sends nothing
		os.Exit(1)
	}()
}
