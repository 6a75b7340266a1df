package nemesis

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
)

// form is how a fault of one kind is written. One table serves reading and printing, so the two cannot disagree.
type form struct {
	kind    Kind
	name    string   // the words that the line opens with
	opening []string // the same, one by one
	parts   []part   // what follows
}

// part is a piece of a form.
type part struct {
	usage string // as the grammar is shown to people: names in capitals, what may be left out in brackets
	parse func(*parser, *Fault)
	print func([]byte, *Fault) []byte
}

// forms holds one form for every kind, in their order.
var forms = [...]form{
	newForm(Pause, "pause", target, words("for"), lasting, trigger),
	newForm(Jump, "jump", target, words("clock by"), jump, trigger),
	newForm(Drift, "drift", target, words("clock by"), rate, driftTrigger, maybeLasting),
	newForm(Crash, "crash", target, loss, trigger, restart),
	newForm(ShutDown, "shut down", target, trigger, restart),
	newForm(FailOver, "fail over", target, words("to"), peer, trigger),
	newForm(Cut, "cut", left, direction, right, trigger, maybeLasting),
	newForm(DelayLink, "delay", target, words("->"), peer, words("by"), by, trigger, maybeLasting),
	newForm(DelayMessage, "delay message", number, words("of"), target, words("->"), peer, words("by"), by),
	newForm(Break, "break", target, words("|"), peer, words("before reply"), number),
	newForm(SlowFsync, "slow fsync", words("of"), target, words("by"), by, trigger, words("for"), lasting),
	newForm(ExpireSession, "expire session", words("of"), target, trigger),
}

func newForm(k Kind, name string, parts ...part) form {
	return form{kind: k, name: name, opening: strings.Fields(name), parts: parts}
}

// formOf returns the form of a kind, nil if k is no kind.
func formOf(k Kind) *form {
	if k == 0 || k >= KindEnd {
		return nil
	}
	return &forms[k-1]
}

// Usage shows the grammar to people: for every kind of fault, in the order of Kinds, how its line is written, and a last
// line for WHEN. Words in capitals stand for values; what is in brackets may be left out.
func Usage() []string {
	lines := make([]string, 0, len(forms)+1)
	for _, f := range forms {
		line := f.name
		for _, p := range f.parts {
			line += p.usage
		}
		lines = append(lines, line)
	}
	return append(lines, "WHEN: at DURATION (drift: from DURATION), or at POINT, after POINT, after the 2nd POINT, after POINT by PROCESS")
}

// String prints the fault as the one line that Parse reads.
func (f Fault) String() string {
	form := formOf(f.Kind)
	if form == nil {
		return f.Kind.String()
	}
	b := append(make([]byte, 0, 96), form.name...)
	for i := range form.parts {
		b = form.parts[i].print(b, &f)
	}
	return string(b)
}

// words are literal words.
func words(text string) part {
	list, printed := strings.Fields(text), " "+text
	return part{
		usage: printed,
		parse: func(p *parser, _ *Fault) { p.require(list) },
		print: func(b []byte, _ *Fault) []byte { return append(b, printed...) },
	}
}

var (
	target = part{" PROCESS",
		func(p *parser, f *Fault) { f.Target = p.process() },
		func(b []byte, f *Fault) []byte { return appendProcess(b, f.Target) },
	}
	peer = part{" PROCESS",
		func(p *parser, f *Fault) { f.Peer = p.process() },
		func(b []byte, f *Fault) []byte { return appendProcess(b, f.Peer) },
	}
	left = part{" PROCESS …",
		func(p *parser, f *Fault) { f.Left = p.processes() },
		func(b []byte, f *Fault) []byte { return appendProcess(b, f.Left...) },
	}
	right = part{" PROCESS …",
		func(p *parser, f *Fault) { f.Right = p.processes() },
		func(b []byte, f *Fault) []byte { return appendProcess(b, f.Right...) },
	}
	direction = part{" (| or ->)", parseDirection, printDirection}
	lasting   = part{" DURATION",
		func(p *parser, f *Fault) { f.For = p.duration() },
		func(b []byte, f *Fault) []byte { return appendDuration(append(b, ' '), f.For) },
	}
	maybeLasting = part{" [for DURATION]", parseMaybeLasting, printMaybeLasting}
	by           = part{" DURATION",
		func(p *parser, f *Fault) { f.By = p.duration() },
		func(b []byte, f *Fault) []byte { return appendDuration(append(b, ' '), f.By) },
	}
	jump = part{" ±DURATION",
		func(p *parser, f *Fault) { f.By = p.jump() },
		func(b []byte, f *Fault) []byte { return appendDuration(appendSign(append(b, ' '), f.By < 0), f.By) },
	}
	rate = part{" ±NUMBERppm",
		func(p *parser, f *Fault) { f.PPM = p.rate() },
		printRate,
	}
	number = part{" NUMBER",
		func(p *parser, f *Fault) { f.Number = p.number() },
		func(b []byte, f *Fault) []byte { return strconv.AppendInt(append(b, ' '), int64(f.Number), 10) },
	}
	loss    = part{" [losing unsynced writes | losing everything]", parseLoss, printLoss}
	restart = part{" [, restart after DURATION]", parseRestart, printRestart}
	trigger = part{" WHEN",
		func(p *parser, f *Fault) { f.Trigger = p.trigger() },
		func(b []byte, f *Fault) []byte { return f.Trigger.appendTo(append(b, ' '), "at") },
	}
	driftTrigger = part{" WHEN",
		func(p *parser, f *Fault) { f.Trigger = p.driftTrigger() },
		func(b []byte, f *Fault) []byte { return f.Trigger.appendTo(append(b, ' '), "from") },
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

// String prints the trigger as it stands in a line of most kinds: "at 1.2s", "after the 3rd acquired". (A drift says
// "from" before a time.)
func (t Trigger) String() string { return string(t.appendTo(nil, "at")) }

// appendTo prints the trigger; beforeTime is the word that leads to a time.
func (t Trigger) appendTo(b []byte, beforeTime string) []byte {
	if t.Point == "" {
		return appendDuration(append(append(b, beforeTime...), ' '), t.Time)
	}
	if t.SaidAt {
		b = append(b, "at "...)
	} else {
		b = append(b, "after "...)
	}
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
