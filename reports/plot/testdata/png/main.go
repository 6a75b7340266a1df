// Command png draws a diagram as PNG.
package main

import (
	"log"
	"os"

	"github.com/fencepost-sim/fencepost/reports/plot"
)

func main() {
	diagram := plot.Diagram{X: plot.Axis{Max: 1}, Y: plot.Axis{Max: 1}}
	err := diagram.PNG(os.Stdout, 400, 300, 72)
	if err != nil {
		log.Fatal(err)
	}
}
