package nemesis

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// MaxNumber is the largest number that a fault can use to identify a message or a reply. It is also the largest n in a
// trigger such as "the n-th acquired".
const MaxNumber = 1_000_000

// time parses a duration of 0s or more. what describes it in error messages.
func (p *parser) time(what string) time.Duration {
	text := p.quantity(what)
	if text == "" {
		return 0
	}
	d, problem, nearest := parseDuration(text)
	if problem != "" {
		p.failQuantity(problem, nearest)
		return 0
	}
	p.advance()
	return d
}

// duration parses a duration longer than 0s.
func (p *parser) duration() time.Duration {
	d := p.time("a duration such as 500ms")
	if d == 0 && p.err == nil {
		p.next--
		p.failQuantity("a duration must be longer than 0s", "")
	}
	return d
}

// quantity returns the next token without consuming it. If there is none, it returns "" and reports an error. what
// describes the missing token.
func (p *parser) quantity(what string) string {
	text := p.peek()
	if text == "" {
		p.expect(what)
		p.unexpected()
	}
	return text
}

// jump parses a signed duration.
func (p *parser) jump() time.Duration {
	text := p.quantity("a jump such as +30s or -5s")
	if text == "" {
		return 0
	}
	negative, rest, signed := splitSign(text)
	sign := "+"
	if negative {
		sign = "-"
	}
	var d time.Duration
	problem, nearest := notDuration, ""
	if looksLikeNumber(rest) {
		d, problem, nearest = parseDuration(rest)
	}
	switch {
	case problem == notDuration:
		p.failQuantity("expected a jump such as +30s or -5s", "")
	case strings.HasPrefix(problem, needsUnit):
		p.failQuantity(needsUnit+WithUnit(sign, rest), "")
	case nearest != "":
		p.failQuantity(problem, sign+nearest)
	case problem != "":
		p.failQuantity(problem, "")
	case !signed:
		p.failQuantity("a jump needs a sign (+ or -)", sign+text)
	case d == 0:
		p.failQuantity("a jump of 0s changes nothing", "")
	}
	p.advance()
	if negative {
		return -d
	}
	return d
}

// rate parses a drift's rate.
func (p *parser) rate() int {
	text := p.quantity("a rate such as +200ppm")
	if text == "" {
		return 0
	}
	ppm, problem, nearest := parsePPM(text)
	if problem != "" {
		p.failQuantity(problem, nearest)
	}
	p.advance()
	return ppm
}

// number parses a number from 1 to MaxNumber.
func (p *parser) number() int {
	text := p.peek()
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxNumber || text[0] == '+' || text[0] == '0' {
		p.expect("a number from 1 to 1000000")
		p.unexpected()
		return 0
	}
	p.advance()
	return n
}

func (p *parser) failQuantity(problem, nearest string) {
	p.fail(problem+", found "+quoteFound(p.peek()), nearest)
}

// trigger parses "at 1.2s", or "at" or "after" followed by a point or a message.
func (p *parser) trigger() Trigger {
	switch {
	case p.accept("at"):
		if looksLikeNumber(p.peek()) {
			return Trigger{Time: p.time("")}
		}
		p.expect("a time such as 1.2s")
		t := p.moment()
		t.SaidAt = true
		return t
	case p.accept("after"):
		p.refuseTime("at")
		return p.moment()
	}
	p.unexpected()
	return Trigger{}
}

// driftTrigger parses "from 0s", or "at" or "after" followed by a point or a message.
func (p *parser) driftTrigger() Trigger {
	if p.accept("from") {
		return Trigger{Time: p.time("a time such as 1.2s")}
	}
	saidAt := p.accept("at")
	if !saidAt && !p.accept("after") {
		p.unexpected()
		return Trigger{}
	}
	p.refuseTime("from")
	t := p.moment()
	t.SaidAt = saidAt
	return t
}

// refuseTime reports an error if the next token is a time. It is called after a word that cannot precede a time. The
// error suggests a valid word instead.
func (p *parser) refuseTime(valid string) {
	if looksLikeNumber(p.peek()) {
		wrong := p.tokens[p.next-1]
		p.failAt(wrong.column, quote(valid)+" must precede a time here, found "+quoteFound(wrong.text), valid)
	}
}

// moment parses the message or the point in a trigger.
func (p *parser) moment() Trigger {
	if p.isMessage() {
		return Trigger{Message: p.message()}
	}
	return p.point()
}

// point parses a point with an optional count and client: "acquired", "the 3rd acquired", "acquired by client-2".
func (p *parser) point() Trigger {
	t := Trigger{Pass: 1}
	if p.accept("the") {
		t.Pass = p.ordinal()
	}
	text := p.peek()
	if p.err != nil {
		return Trigger{}
	}
	if !slices.Contains(sim.Points, sim.Point(text)) {
		p.expect("a point such as acquired", pointWords...)
		p.unexpected()
		return Trigger{}
	}
	p.advance()
	t.Point = sim.Point(text)
	if p.accept("by") {
		t.By = p.process()
	}
	return t
}

// ordinal parses 1st, 2nd, 3rd and so on.
func (p *parser) ordinal() int {
	text := p.peek()
	digits, _ := splitUnit(text)
	n, err := strconv.Atoi(digits)
	if err == nil && n >= 1 && n <= MaxNumber && text == ordinal(n) {
		p.advance()
		return n
	}
	nearest := ""
	if err == nil && n >= 1 && n <= MaxNumber {
		nearest = ordinal(n)
	}
	p.fail("expected a rank such as 3rd, found "+quoteFound(text), nearest)
	return 0
}

var pointWords = func() []string {
	words := make([]string, len(sim.Points))
	for i, point := range sim.Points {
		words[i] = string(point)
	}
	return words
}()

func isPoint(text string) bool { return slices.Contains(pointWords, text) }

func looksLikeNumber(text string) bool {
	return text != "" && strings.ContainsRune("0123456789+-.", rune(text[0]))
}
