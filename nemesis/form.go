package nemesis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
)

// part is one piece of a fault's line. Parsing, printing and simplifying all use the same parts, so they always agree.
type part struct {
	usage  string // its grammar as shown to users: names in capitals, optional parts in brackets
	states Field  // the fields of Fault that the part sets
	parse  func(*parser, *Fault)
	print  func([]byte, *Fault) []byte
	// plainer calls visit with each change that simplifies this part of the line. It is nil if the part cannot be
	// simplified. A change must not write into Left or Right, because copies of the fault share them.
	plainer func(f *Fault, visit func(change func(*Fault)))
}

// Plainer calls visit with each change that simplifies f or removes an optional element, such as its duration. A
// changed fault may be invalid.
func (f Fault) Plainer(visit func(change func(*Fault))) {
	for _, p := range f.Kind.definition().parts {
		if p.plainer != nil {
			p.plainer(&f, visit)
		}
	}
}

// Usage returns the grammar as shown to users: the line for each kind of fault in the order of Kinds, then alternative
// forms of some kinds, then WHEN and MESSAGE. Words in capitals stand for values, and parts in brackets are optional.
func Usage() []string {
	lines := make([]string, 0, len(Kinds)+4)
	var named []string
	for _, k := range Kinds {
		d := k.definition()
		line := string(d.words)
		for _, p := range d.parts {
			line += p.usage
		}
		lines = append(lines, line)
		if d.also != "" {
			named = append(named, d.also)
		}
	}
	return append(append(lines, named...),
		"WHEN: at TIME (for a drift, from TIME), or at POINT, after POINT, after the 2nd POINT, "+
			"after POINT by PROCESS, or at MESSAGE (as it leaves), after MESSAGE (as it arrives)",
		"MESSAGE: [the answer to] the [2nd] COMMAND of PROCESS [to PROCESS] [in attempt NUMBER]; "+
			"or, if the fault names the client, its COMMAND")
}

// String prints the fault as a line that Parse reads.
func (f Fault) String() string {
	d := f.Kind.definition()
	if d == nil {
		return f.Kind.String()
	}
	b := append(make([]byte, 0, 96), d.begins(&f)...)
	for i := range d.parts {
		b = d.parts[i].print(b, &f)
	}
	return string(b)
}

// words returns a part made of literal words.
func words(text string) part {
	list, printed := strings.Fields(text), " "+text
	return part{
		usage: printed,
		parse: func(p *parser, _ *Fault) { p.require(list) },
		print: func(b []byte, _ *Fault) []byte { return append(b, printed...) },
	}
}

var (
	target = part{" PROCESS", FieldTarget,
		func(p *parser, f *Fault) { f.Target = p.process() },
		func(b []byte, f *Fault) []byte { return appendProcess(b, f.Target) }, nil,
	}
	peer = part{" PROCESS", FieldPeer,
		func(p *parser, f *Fault) { f.Peer = p.process() },
		func(b []byte, f *Fault) []byte { return appendProcess(b, f.Peer) }, nil,
	}
	lockName = part{" LOCK", FieldLock,
		func(p *parser, f *Fault) { f.Lock = p.lock() },
		func(b []byte, f *Fault) []byte { return append(append(b, ' '), f.Lock...) }, nil,
	}
	left = part{" PROCESS …", FieldSides,
		func(p *parser, f *Fault) { f.Left = p.processes() },
		func(b []byte, f *Fault) []byte { return appendProcess(b, f.Left...) }, nil,
	}
	right = part{" PROCESS …", FieldSides,
		func(p *parser, f *Fault) { f.Right = p.processes() },
		func(b []byte, f *Fault) []byte { return appendProcess(b, f.Right...) }, nil,
	}
	direction = part{" (| or ->)", FieldSides, parseDirection, printDirection, fewerDirections}
	lasting   = part{" DURATION", FieldFor,
		func(p *parser, f *Fault) { f.For = p.duration() },
		func(b []byte, f *Fault) []byte { return appendDuration(append(b, ' '), f.For) }, nil,
	}
	maybeLasting = part{" [for DURATION]", FieldFor, parseMaybeLasting, printMaybeLasting,
		func(_ *Fault, visit func(func(*Fault))) { visit(func(f *Fault) { f.For = 0 }) },
	}
	by = part{" DURATION", FieldBy,
		func(p *parser, f *Fault) { f.By = p.duration() },
		func(b []byte, f *Fault) []byte { return appendDuration(append(b, ' '), f.By) }, nil,
	}
	jump = part{" ±DURATION", FieldBy,
		func(p *parser, f *Fault) { f.By = p.jump() },
		func(b []byte, f *Fault) []byte { return appendDuration(appendSign(append(b, ' '), f.By < 0), f.By) }, nil,
	}
	rate = part{" ±NUMBERppm", FieldPPM,
		func(p *parser, f *Fault) { f.PPM = p.rate() },
		printRate, nil,
	}
	loss    = part{" [losing unsynced writes | losing everything]", FieldLoss, parseLoss, printLoss, lessLost}
	restart = part{" [, restart after DURATION]", FieldRestart, parseRestart, printRestart,
		func(_ *Fault, visit func(func(*Fault))) { visit(func(f *Fault) { f.Restart = 0 }) },
	}
	trigger = part{" WHEN", FieldTrigger,
		func(p *parser, f *Fault) { f.Trigger = p.trigger() },
		func(b []byte, f *Fault) []byte { return f.Trigger.appendTo(append(b, ' '), "at") },
		plainerMessage,
	}
	driftTrigger = part{" WHEN", FieldTrigger,
		func(p *parser, f *Fault) { f.Trigger = p.driftTrigger() },
		func(b []byte, f *Fault) []byte { return f.Trigger.appendTo(append(b, ' '), "from") },
		plainerMessage,
	}
)

func parseDirection(p *parser, f *Fault) {
	if f.OneWay = p.accept("->"); !f.OneWay && !p.accept("|") {
		p.unexpected()
	}
}

func printDirection(b []byte, f *Fault) []byte {
	if f.OneWay {
		return append(b, " ->"...)
	}
	return append(b, " |"...)
}

// fewerDirections tries simpler forms of a cut: one that cuts both directions, one with its two sides swapped, and cuts
// with fewer processes on a side (see fewer).
func fewerDirections(f *Fault, visit func(func(*Fault))) {
	visit(func(f *Fault) { f.OneWay = false })
	visit(func(f *Fault) { f.Left, f.Right = f.Right, f.Left })
	for _, some := range fewer(f.Left) {
		visit(func(f *Fault) { f.Left = some })
	}
	for _, some := range fewer(f.Right) {
		visit(func(f *Fault) { f.Right = some })
	}
}

// fewer returns shorter lists: for each process in the list, one with only that process and one without it.
func fewer(all []sim.ProcessID) [][]sim.ProcessID {
	var list [][]sim.ProcessID
	for i := range all {
		list = append(list, all[i:i+1:i+1])
		if len(all) > 1 {
			list = append(list, slices.Delete(slices.Clone(all), i, i+1))
		}
	}
	return list
}

func parseMaybeLasting(p *parser, f *Fault) {
	if p.accept("for") {
		f.For = p.duration()
	}
}

func printMaybeLasting(b []byte, f *Fault) []byte {
	if f.For == 0 {
		return b
	}
	return appendDuration(append(b, " for "...), f.For)
}

func printRate(b []byte, f *Fault) []byte {
	b = appendSign(append(b, ' '), f.PPM < 0)
	return append(strconv.AppendInt(b, int64(max(f.PPM, -f.PPM)), 10), "ppm"...)
}

func parseLoss(p *parser, f *Fault) {
	if !p.accept("losing") {
		return
	}
	switch {
	case p.accept("unsynced"):
		p.require([]string{"writes"})
		f.Loss = LosesUnsynced
	case p.accept("everything"):
		f.Loss = LosesEverything
	default:
		p.unexpected()
	}
}

func printLoss(b []byte, f *Fault) []byte {
	switch f.Loss {
	case LosesUnsynced:
		return append(b, " losing unsynced writes"...)
	case LosesEverything:
		return append(b, " losing everything"...)
	}
	return b
}

// lessLost tries a crash that loses only unsynced writes, and a shutdown, which loses nothing.
func lessLost(f *Fault, visit func(func(*Fault))) {
	if f.Loss != LosesMemory {
		visit(func(f *Fault) { f.Loss = LosesUnsynced })
		visit(func(f *Fault) { f.Kind, f.Loss = ShutDown, LosesMemory })
	}
}

func parseRestart(p *parser, f *Fault) {
	if p.accept(",") {
		p.require([]string{"restart", "after"})
		if p.err == nil {
			f.Restart = p.duration()
		}
	}
}

func printRestart(b []byte, f *Fault) []byte {
	if f.Restart == 0 {
		return b
	}
	return appendDuration(append(b, ", restart after "...), f.Restart)
}

// Timed reports whether the trigger is a time.
func (t *Trigger) Timed() bool { return t.Point == "" && !t.Message.Named() }

// String prints the trigger in the form used by most kinds of faults: "at 1.2s", "after the 3rd acquired". (For a
// drift, the word before a time is "from".)
func (t Trigger) String() string { return string(t.appendTo(nil, "at")) }

// appendTo prints the trigger. beforeTime is the word to write before a time.
func (t Trigger) appendTo(b []byte, beforeTime string) []byte {
	if t.Timed() {
		return appendDuration(append(append(b, beforeTime...), ' '), t.Time)
	}
	if t.SaidAt {
		b = append(b, "at"...)
	} else {
		b = append(b, "after"...)
	}
	if t.Message.Named() {
		return t.Message.appendTo(b)
	}
	b = append(b, ' ')
	if t.Pass > 1 {
		b = append(append(append(b, "the "...), ordinal(t.Pass)...), ' ')
	}
	b = append(b, t.Point...)
	if t.By != "" {
		b = appendProcess(append(b, " by"...), t.By)
	}
	return b
}

func appendProcess(b []byte, list ...sim.ProcessID) []byte {
	for _, p := range list {
		b = append(append(b, ' '), p...)
	}
	return b
}
