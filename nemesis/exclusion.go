package nemesis

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// Exclusion describes faults that a lock does not promise to survive. It names one kind of fault and may set
// conditions. It is written as one line: "jump of servers", "drift above 1000ppm", "crash losing everything, restart
// within 10s", "shut down, no restart", "cut, no end". An Exclusion returned by ParseExclusion does not change if it is
// printed by String and parsed again.
type Exclusion struct {
	Kind Kind
	// Loss (Crash only) excludes only crashes with this loss of data. LosesMemory, the zero value, excludes every
	// crash.
	Loss Loss
	// Of requires that at least one of the fault's targets be a process of this kind. AnyProcess does not impose a
	// condition.
	Of ProcessKind
	// Above (Drift only) excludes only drifts of more than this many ppm, in either direction. Zero excludes every
	// drift.
	Above int
	// Within (Crash and ShutDown only) excludes only faults after which the server restarts in less than this time.
	// Zero does not impose a condition.
	Within time.Duration
	// Forever excludes only faults that never end: a Crash or ShutDown without a restart, or a Cut or Drift without a
	// duration. It cannot be combined with Within.
	Forever bool
	// OneWay (Cut only) excludes only cuts in a single direction. It cannot be combined with Forever.
	OneWay bool
}

// ProcessKind is a kind of process that an exclusion can name, for example all clients.
type ProcessKind uint8

// The kinds of process that an exclusion can name.
const (
	AnyProcess ProcessKind = iota
	AnyClient
	AnyServer
	AnyResource
)

// processKindWords contains the word that stands for each process kind in an exclusion, indexed by kind.
var processKindWords = [...]string{AnyClient: "clients", AnyServer: "servers", AnyResource: "resource"}

// ExclusionUsage is the grammar of exclusions, as shown to users.
const ExclusionUsage = "KIND [losing unsynced writes | losing everything] [of clients | of servers | of resource] " +
	"[above NUMBERppm] [, " +
	"restart within DURATION | , no restart | , no end | , one way]"

// ParseExclusion parses one exclusion. Any error that it returns is a *ParseError.
func ParseExclusion(line string) (Exclusion, error) {
	p := new(parser)
	var err *ParseError
	if p.tokens, p.end, err = tokenize(line, p.space[:0]); err != nil {
		return Exclusion{}, err
	}
	var x Exclusion
	if x.Kind = p.kind(nil); x.Kind != 0 {
		p.exclusion(&x)
	}
	if p.err == nil && p.next < len(p.tokens) {
		p.expect("the end of the line")
		p.unexpected()
	}
	if p.err != nil {
		return Exclusion{}, p.err
	}
	return x, nil
}

// exclusion parses the part of an exclusion after the kind of fault.
func (p *parser) exclusion(x *Exclusion) {
	if x.Kind.Has(FieldLoss) {
		var f Fault
		parseLoss(p, &f)
		x.Loss = f.Loss
	}
	if p.err == nil && p.accept("of") {
		for s := AnyClient; s <= AnyResource; s++ {
			if p.accept(processKindWords[s]) {
				x.Of = s
			}
		}
		if x.Of == AnyProcess {
			p.unexpected()
		}
	}
	if p.err == nil && x.Kind.Has(FieldPPM) && p.accept("above") {
		x.Above = p.limit()
	}
	if p.err == nil && x.Kind.Endless() && p.accept(",") {
		if x.OneWay = x.Kind.Has(FieldSides) && p.accept("one"); x.OneWay {
			p.require([]string{"way"})
			return
		}
		x.Forever = true
		p.require([]string{"no", "end"})
	}
	if p.err == nil && x.Kind.Has(FieldRestart) && p.accept(",") {
		if x.Forever = p.accept("no"); x.Forever {
			p.require([]string{"restart"})
			return
		}
		p.require([]string{"restart", "within"})
		if p.err == nil {
			x.Within = p.duration()
		}
	}
}

// limit parses an unsigned rate, in ppm.
func (p *parser) limit() int {
	text := p.quantity("a rate such as 1000ppm")
	if text == "" {
		return 0
	}
	n, problem, nearest := parsePPM("+" + text)
	if problem != "" {
		p.failQuantity("expected a rate such as 1000ppm, up to 500000ppm", strings.TrimPrefix(nearest, "+"))
	}
	p.advance()
	return n
}

// String prints the exclusion as a line that ParseExclusion reads.
func (x Exclusion) String() string {
	b := printLoss([]byte(x.Kind.String()), &Fault{Loss: x.Loss})
	if x.Of != AnyProcess {
		b = append(append(b, " of "...), processKindWords[x.Of]...)
	}
	if x.Above > 0 {
		b = append(strconv.AppendInt(append(b, " above "...), int64(x.Above), 10), "ppm"...)
	}
	if x.Within > 0 {
		b = appendDuration(append(b, ", restart within "...), x.Within)
	}
	switch {
	case x.OneWay:
		b = append(b, ", one way"...)
	case x.Forever && x.Kind.Endless():
		b = append(b, ", no end"...)
	case x.Forever:
		b = append(b, ", no restart"...)
	}
	return string(b)
}

// Covers reports whether the exclusion excludes f in a run with the given processes.
func (x Exclusion) Covers(f Fault, names *Names) bool {
	switch {
	case f.Kind != x.Kind,
		x.Loss != LosesMemory && f.Loss != x.Loss,
		x.Above > 0 && max(f.PPM, -f.PPM) <= x.Above,
		x.Within > 0 && (f.Restart == 0 || f.Restart >= x.Within),
		x.Forever && (f.Restart > 0 || f.For > 0),
		x.OneWay && !f.OneWay:
		return false
	}
	return x.Of == AnyProcess ||
		slices.ContainsFunc(f.On(), func(p sim.ProcessID) bool { return names.role(p).processKind() == x.Of })
}

func (r role) processKind() ProcessKind {
	switch {
	case r == client:
		return AnyClient
	case r.isServer():
		return AnyServer
	case r == theResource:
		return AnyResource
	}
	return AnyProcess
}
