//go:build js && wasm

// Command worker is the simulator as WebAssembly: it answers the page on which a reader plays, in a worker of the
// browser. The global function fencepost takes a request and a function that is called with what is done so far, and
// gives the answer; all are JSON texts.
package main

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"syscall/js"

	"github.com/fencepost-sim/fencepost/scenarios/play"
)

func main() {
	debug.SetGCPercent(800)
	var player play.Player
	js.Global().Set("fencepost", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(player.Ask(context.Background(), []byte(args[0].String()), func(p play.Progress) {
			text, _ := json.Marshal(p) // three plain fields
			args[1].Invoke(string(text))
		}))
	}))
	select {}
}
