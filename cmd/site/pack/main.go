// Command pack compresses its standard input with brotli at the highest level, which takes a minute for the simulator.
// It is a program of its own so that installing fencepost does not compile the compressor.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/andybalholm/brotli"
)

func main() {
	w := brotli.NewWriterOptions(os.Stdout, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: 24})
	_, err := io.Copy(w, os.Stdin)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
