package process

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// output passes a command's output to the writer in Command.Output.
type output struct {
	in     *os.File      // the FIFO to read; nil if the output is not wanted
	copied chan struct{} // closed once all output has been copied

	mu sync.Mutex
	to io.Writer // nil once output must no longer be passed on
}

// listenTo creates a FIFO for a command's output, if the command's Output is set.
func (k *Keeper) listenTo(c *Command) (*output, error) {
	o := &output{copied: make(chan struct{}), to: c.Output}
	if c.Output == nil {
		return o, nil
	}
	k.mu.Lock()
	k.last++
	name := filepath.Join(k.folder, fmt.Sprintf("output-%d", k.last))
	k.mu.Unlock()
	in, err := fifo(name)
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", name, err)
	}
	o.in = in
	c.Log = name
	return o, nil
}

// copy copies the output until the FIFO has no more writers.
func (o *output) copy() {
	defer close(o.copied)
	if o.in != nil {
		_, _ = io.Copy(o, o.in) // an error means that the output is no longer needed
		_ = o.in.Close()
	}
}

// Write passes output on to the writer in Command.Output.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.to == nil {
		return len(b), nil
	}
	return o.to.Write(b)
}

// end stops passing output to the writer.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to = nil
}
