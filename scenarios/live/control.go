package live

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

// control is the connection on which one of Fencepost's own clients sends its reports.
type control struct {
	*realtime.Framed
	of      *child
	waiting []func(answer []byte) // callbacks for replies, in order
}

func (c *child) dialControl(to realtime.Door) (k *control, err error) {
	k = &control{of: c}
	k.Framed, err = realtime.DialFramed(c.loop, to, k.took, k.ended)
	return k, err
}

// say sends a report. When the answer arrives, it is passed to then.
func (k *control) say(then func(answer []byte), args ...string) {
	k.waiting = append(k.waiting, then)
	k.Say(args)
}

// report sends a report, and raises the done signal once it is acknowledged.
func (k *control) report(done *sim.Signal, args []string) {
	k.say(func([]byte) { done.Raise() }, args...)
}

func (k *control) took(kind byte, what []byte) {
	switch {
	case kind == realtime.FramePush:
		k.of.setClock(string(what))
	case len(k.waiting) > 0:
		then := k.waiting[0]
		k.waiting = k.waiting[1:]
		then(what)
	}
}

// ended ends the client. It is called when the process that started the client ends.
func (k *control) ended() {
	k.of.loop.Fail(fmt.Errorf("the run of client %s has ended", k.of.id))
}
