package remote

import (
	"flag"
	"io"
	"os"
	"strings"
)

// Flags are the arguments of this test binary that the processes of its runs must have as well, for a test there to be
// the same one: flags of the user's own, -short, and what stands after all flags. Those by which go test says what to
// run, and what to write where, are of this process alone; so are those named.
func Flags(except ...string) []string { return own(flag.CommandLine, os.Args[1:], except...) }

// own is what Flags returns for the arguments that a set of flags was parsed from.
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

// EndWithParent ends this process once the one that has started it is gone: the other end of in, its standard input, is
// closed then, however that process ends. Code that never lets another goroutine run puts this off.
func EndWithParent(in io.Reader) {
	go func() {
		_, _ = io.Copy(io.Discard, in) // nobody sends anything
		os.Exit(1)
	}()
}
