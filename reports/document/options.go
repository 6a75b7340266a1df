package document

import (
	"io"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// TextOptions say what the reader's terminal can do.
type TextOptions struct {
	Width int  // cells; 0 stands for 80, less than 60 for 60
	Color bool // bold, red, green and yellow, by ANSI escapes
	All   bool // also what does not fit a screen, and each More
}

// Writer makes a writer to w that notes whether the probe is mentioned.
func (o TextOptions) Writer(w io.Writer) *text.Writer {
	width := o.Width
	if width == 0 {
		width = 80
	}
	p := text.New(w, max(width, 60), o.Color)
	p.Watch(string(history.Probe))
	return p
}
