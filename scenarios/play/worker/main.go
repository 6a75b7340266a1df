//go:build js && wasm

// Command worker is the simulator as WebAssembly: it answers the page on which a reader plays, in a worker of the
// browser. The global function fencepost takes a request and a function that is called with what is done so far, and
// gives a promise of the answer; all are JSON texts.
package main

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"syscall/js"

	"github.com/fencepost-sim/fencepost/scenarios/play"
)

func main() {
	debug.SetGCPercent(200)
	js.Global().Set("fencepost", js.FuncOf(func(_ js.Value, args []js.Value) any {
		request, progress := []byte(args[0].String()), args[1]
		var work js.Func
		work = js.FuncOf(func(_ js.Value, settle []js.Value) any {
			go func() {
				defer work.Release()
				settle[0].Invoke(string(play.Ask(context.Background(), request, func(p play.Progress) {
					text, _ := json.Marshal(p) // three plain fields
					progress.Invoke(string(text))
				})))
			}()
			return nil
		})
		return js.Global().Get("Promise").New(work)
	}))
	select {}
}
