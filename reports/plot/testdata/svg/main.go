// Command svg draws a diagram as SVG.
package main

import (
	"log"
	"os"

	"github.com/fencepost-sim/fencepost/reports/plot"
)

func main() {
	diagram := plot.Diagram{X: plot.Axis{Max: 1}, Y: plot.Axis{Max: 1}}
	_, err := os.Stdout.WriteString(diagram.SVG(400, 300))
	if err != nil {
		log.Fatal(err)
	}
}
