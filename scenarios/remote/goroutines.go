package remote

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Goroutine is a goroutine in a bubble, as it appears in a dump.
type Goroutine struct {
	State string // state in Go's words, such as "running", "sync.Mutex.Lock" or "chan receive"
	// durable is set if the goroutine is durably blocked, as defined by testing/synctest, so that virtual time may
	// advance.
	durable bool
	number  int     // Go's number of the goroutine
	creator int     // number of the goroutine that created this one; 0 if it is not known
	frames  []frame // innermost first, without frames of the runtime; the last is the call that created the goroutine
}

// frame is one call on a goroutine's stack.
type frame struct {
	function string // name of the function, including the path of its package
	args     string
	place    string // file and line
}

var (
	goroutine = regexp.MustCompile(`(?m)^goroutine (\d+) .*\[([^\]]*)\]:$`)
	creator   = regexp.MustCompile(`(?m)^created by .* in goroutine (\d+)$`)
)

// Goroutines returns the goroutines of the most recent bubble in a program's dump, except the goroutine that runs the
// bubble.
func Goroutines(dump string) (all []*Goroutine) {
	latest := 0
	for _, text := range strings.Split(dump, "\n\n") {
		head := goroutine.FindStringSubmatch(text)
		if head == nil {
			continue
		}
		n := bubbleOf(head[2])
		if n > latest {
			latest, all = n, nil
		}
		if n == 0 || n < latest || strings.Contains(text, "testing/synctest.") {
			continue
		}
		state, _, _ := strings.Cut(head[2], ",")
		state, _, _ = strings.Cut(state, " (durable)")
		g := &Goroutine{State: state, durable: strings.Contains(head[2], "(durable)"), frames: framesOf(text)}
		g.number, _ = strconv.Atoi(head[1])
		if by := creator.FindStringSubmatch(text); by != nil {
			g.creator, _ = strconv.Atoi(by[1])
		}
		all = append(all, g)
	}
	return all
}

// bubbleOf returns the number of a goroutine's bubble, counting from 1, or 0 if the goroutine is not in a bubble. head
// is the text in brackets in the goroutine's header.
func bubbleOf(head string) int {
	_, number, _ := strings.Cut(head, "synctest bubble ")
	number, _, _ = strings.Cut(number, " ") // labels may follow
	n, _ := strconv.Atoi(number)
	return n
}

func framesOf(text string) (all []frame) {
	lines := strings.Split(text, "\n")
	for i := 1; i+1 < len(lines); i++ {
		if strings.HasPrefix(lines[i], "\t") || strings.HasPrefix(lines[i], "runtime.") ||
			!strings.HasPrefix(lines[i+1], "\t") {
			continue
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +")
		place, _, _ = strings.Cut(place, " fp=")
		function, _, _ := strings.Cut(lines[i], " in goroutine ")
		f := frame{function: function, place: place}
		if at := strings.LastIndexByte(function, '('); at > 0 && strings.HasSuffix(function, ")") {
			f.function, f.args = function[:at], function[at:]
		}
		all = append(all, f)
	}
	return all
}

// creation begins the line with the call that created a goroutine.
const creation = "created by "

// ofGo lists packages of the standard library whose functions wait on behalf of other code.
var ofGo = []string{"runtime.", "sync.", "internal/", "time.", "syscall.", "os.", "net.", "io.", "bufio.", "context.",
	"crypto/", "fmt.", "net/", "sync/"}

// own returns the innermost call that is not in the standard library, or nil if there is none.
func (g *Goroutine) own() *frame {
	for i := range g.frames {
		f := &g.frames[i]
		if !strings.HasPrefix(f.function, creation) &&
			!slices.ContainsFunc(ofGo, func(p string) bool { return strings.HasPrefix(f.function, p) }) {
			return f
		}
	}
	return nil
}

// Idle reports whether a goroutine belongs to sim/bubble and is either waiting for work or running a task.
func (g *Goroutine) Idle() bool {
	at := g.own()
	return at != nil && (strings.HasSuffix(at.function, "/bubble.(*Driver).work.func1") ||
		strings.HasPrefix(at.function, "iter.Pull[") || strings.Contains(at.function, "fencepost/sim.(*Stacks)"))
}

// In reports whether a goroutine is running in a function whose name contains the given text, or was created by such a
// function.
func (g *Goroutine) In(name string) bool {
	return slices.ContainsFunc(g.frames, func(f frame) bool {
		return strings.Contains(f.function+"(", name)
	})
}

// String says what a goroutine is doing, and where.
func (g *Goroutine) String() string {
	at := g.own()
	if at == nil {
		return "a goroutine, " + g.State
	}
	return fmt.Sprintf("%s (%s) %s", short(at.function), base(at.place), waits(g.State))
}

// waits describes what a goroutine in the given state is doing.
func waits(state string) string {
	switch state {
	case "running", "runnable":
		return "runs without ever blocking"
	case "sleep":
		return "sleeps"
	case "IO wait":
		return "is waiting for a real socket or file"
	case "select", "select (no cases)", "chan receive", "chan send":
		return fmt.Sprintf("is waiting on a channel (%s)", state)
	}
	return "waits (" + state + ")"
}

// short returns a function's name without its package path.
func short(function string) string { return function[strings.LastIndexByte(function, '/')+1:] }

func base(place string) string { return place[strings.LastIndexByte(place, '/')+1:] }

// depth is the maximum number of calls listed for a goroutine.
const depth = 8

// calls lists a goroutine's innermost calls and the call that created it, each with its position in the source code.
func (g *Goroutine) calls() string {
	var b strings.Builder
	for i, f := range g.frames {
		if i < depth || strings.HasPrefix(f.function, creation) {
			fmt.Fprintf(&b, "  %s%s\n      %s\n", f.function, f.args, f.place)
		}
	}
	return b.String()
}

// Same groups similar goroutines and describes the largest groups: how many goroutines there are, what they are doing,
// and the calls of one of them.
func Same(all []*Goroutine) string {
	count, of := map[string]int{}, []string{}
	for _, g := range all {
		text := g.String() + "\n"
		for _, f := range g.frames[:min(len(g.frames), depth)] {
			text += "  " + f.function + "\n      " + f.place + "\n"
		}
		if count[text]++; count[text] == 1 {
			of = append(of, text)
		}
	}
	slices.SortStableFunc(of, func(a, b string) int { return count[b] - count[a] })
	var b strings.Builder
	for _, text := range of[:min(len(of), 3)] {
		fmt.Fprintf(&b, "%d × %s", count[text], text)
	}
	return b.String()
}

// stranger describes the channel on which goroutine g is waiting, and how to replace it. It returns "" if g is waiting
// for something else. g must be one of the goroutines that keep virtual time from advancing, so the channel was created
// outside the run. stranger guesses that it belongs to the package of g's innermost call outside the standard library
// or, if g has no such call, of its creator's.
func stranger(g *Goroutine, all []*Goroutine) string {
	if !strings.HasPrefix(g.State, "chan ") && g.State != "select" {
		return ""
	}
	at := g.own()
	if i := slices.IndexFunc(all, func(o *Goroutine) bool { return o.number == g.creator }); at == nil && i >= 0 {
		at = all[i].own()
	}
	text := "It waits on a channel that was created before the run, such as one in a package variable. "
	if at != nil {
		text += fmt.Sprintf("Look for such a variable in the package %s, which contains %s (%s). ",
			packageOf(at.function), short(at.function), base(at.place))
	}
	return text + "Create the channel again for each run, in New. " +
		"If it is never closed, set it to nil in the test's file instead: " +
		"waiting on a nil channel does not stop virtual time. A variable of another package can be set with " +
		"go:linkname and an empty .s file (scenarios/locktest/ensembles/clock_test.go does it for etcd's client).\n"
}

// packageOf returns the path of a function's package.
func packageOf(function string) string {
	at := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[at:], ".")
	return function[:at] + name
}

// culprits describes the goroutines that keep virtual time from advancing, and what each of them is waiting for. If
// there are none, it returns the beginning of the dump.
func culprits(dump []byte) string {
	all := Goroutines(string(dump))
	var b strings.Builder
	first := true
	for _, g := range all {
		if g.durable {
			continue
		}
		if first {
			fmt.Fprintf(&b, ": %s. Virtual time stands still while a goroutine runs, "+
				"or is blocked by something other than a channel, a timer or a connection of the client.\n"+
				"%s%s", g, stranger(g, all), mutex(g))
		}
		first = false
		fmt.Fprintf(&b, "\na goroutine, %s:\n%s", g.State, g.calls())
	}
	if first {
		return fmt.Sprintf(":\n%s", dump[:min(len(dump), shown)])
	}
	return b.String()
}

// Standstill begins the error for a run in which a wait for a mutex has stopped virtual time. This happens with
// versions of Go that package bubble does not know, and is likely to recur in other runs.
const Standstill = "the run stopped because a goroutine waits for a mutex"

// ReportStandstill tells the process that controls the run that the run has stopped because a goroutine is waiting for
// a mutex. The caller must then end this process.
func ReportStandstill(problems io.Writer, dump string) {
	fmt.Fprintf(problems, "\n%s\n\n%s", Standstill, dump)
}

// StandsStill reports whether a wait for a mutex has stopped virtual time. It looks only at the goroutines of the most
// recent bubble in a dump: one of them must be waiting for a mutex, and none of them may be running.
func StandsStill(dump string) bool {
	latest, runs, stops := 0, false, false
	for _, head := range goroutine.FindAllStringSubmatch(dump, -1) {
		n := bubbleOf(head[2])
		if n > latest {
			latest, runs, stops = n, false, false
		}
		if n == 0 || n < latest {
			continue
		}
		state, _, _ := strings.Cut(head[2], ",")
		runs = runs || slices.Contains(running, state)
		g := Goroutine{State: state, durable: strings.Contains(state, "(durable)")}
		stops = stops || g.stopsByMutex()
	}
	return stops && !runs
}

// running lists the states in which a goroutine is running, or will continue without another goroutine's help.
var running = []string{"running", "runnable", "syscall", "IO wait", "preempted", "copystack", "semacquire"}

// stopsByMutex reports whether a goroutine keeps virtual time from advancing because it is waiting for a mutex.
func (g *Goroutine) stopsByMutex() bool { return !g.durable && strings.Contains(g.State, "Lock") }

// mutex explains why a goroutine that is waiting for a mutex keeps virtual time from advancing. It returns "" if the
// goroutine is waiting for something else.
func mutex(g *Goroutine) string {
	if !g.stopsByMutex() {
		return ""
	}
	return fmt.Sprintf("With Go 1.26 and 1.27 a wait for a mutex lets virtual time pass; with %s it stops the run. "+
		"Test with one of those, or with a version of fencepost that supports this version of Go.\n", runtime.Version())
}
