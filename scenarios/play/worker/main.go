//go:build js && wasm

// Command worker is the simulator compiled to WebAssembly. It runs in a web worker in the browser and answers the
// page's requests. The global function fencepost takes a request and a progress callback, and returns the answer. The
// request, the answer and the callback's argument are JSON.
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
			text, _ := json.Marshal(p) // cannot fail: three plain fields
			args[1].Invoke(string(text))
		}))
	}))
	select {}
}
