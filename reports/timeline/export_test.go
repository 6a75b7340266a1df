package timeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// LegendErrors draws the lanes as text and lists the marks that the legend does not explain, and those that the legend
// explains although they are not drawn. It reads the text as a reader does, by columns.
func LegendErrors(l *Lanes, width int) (errs []string) {
	var b strings.Builder
	l.draw(text.New(&b, width, false))
	t, body, _ := l.lay(width)
	if len(body) == 0 {
		return nil
	}
	lines := strings.Split(b.String(), "\n")
	legend := strings.Join(lines[len(body)+2:], "\n")
	drawn := map[place]map[rune]bool{inGutter: {}, inLane: {}, inLease: {}, inKeys: {}}
	lanes := t.time + gutter
	for _, line := range lines[1 : len(body)+1] {
		for i, mark := range []rune(line)[:min(t.words, len([]rune(line)))] {
			at := inGutter
			switch {
			case mark == ' ' || i < t.time && mark != '⋮':
				continue
			case i >= lanes+len(t.clients)*t.lane:
				at = inKeys
			case i >= lanes:
				at = inLane
				if strings.ContainsRune("┐│┘", mark) {
					at = inLease
				}
			}
			drawn[at][mark] = true
		}
	}
	if strings.Contains(legend, "behind") && l.severalMayHold() {
		errs = append(errs, "keys are behind others, although several clients may hold the lock at once")
	}
	named := map[place]string{}
	note := func(in place, marks string) { named[in] += marks }
	for entry := range strings.SplitSeq(strings.ReplaceAll(legend, "  ", "\n"), "\n") {
		marks, words, _ := strings.Cut(strings.TrimPrefix(entry, "lanes: "), " ")
		switch {
		case words == "witness" || words == "time left out" || strings.HasSuffix(words, "inside at once"):
			note(inGutter, marks)
		case strings.HasPrefix(words, "lease"):
			note(inLease, marks)
		case strings.HasPrefix(words, "in ") || strings.HasPrefix(words, "paused") || words == "crashed" ||
			strings.HasPrefix(words, "asking"):
			note(inLane, marks)
		case strings.HasPrefix(words, "key") || words == "no key" || words == "server down" ||
			words == "more behind them" || words == "more keys" || words == "several keys" ||
			strings.HasPrefix(words, "on a member"):
			note(inKeys, marks)
		}
	}
	for c := range l.clients { // a mark that is the number in the client's name needs no explanation
		name, mark := l.clients[c].Name, string(t.markOf(c))
		if strings.HasSuffix(name, "-"+mark) || strings.Contains(legend, mark+" "+name) {
			note(inKeys, mark)
		}
	}
	for in, marks := range drawn {
		for mark := range marks {
			if !strings.ContainsRune(named[in], mark) {
				errs = append(errs, fmt.Sprintf("%c is drawn and not in the legend", mark))
			}
		}
		for _, mark := range named[in] {
			client := in == inKeys && !strings.ContainsRune("·+✗?", mark)
			if !marks[mark] && !client {
				errs = append(errs, fmt.Sprintf("%c is in the legend and not drawn", mark))
			}
		}
	}
	slices.Sort(errs)
	return errs
}

// WrongCalls describes the writes that are tied to a call of another value or of another attempt.
func WrongCalls(l *Lanes) (errs []string) {
	for _, f := range l.effects {
		e := &l.history.Events[f.Pos]
		if f.Sent < 0 {
			errs = append(errs, fmt.Sprintf("event %d, an effect of %s, has no call", f.Pos, f.Of.Attempt))
			continue
		}
		if sent := &l.history.Events[f.Sent]; sent.Lock != e.Lock || sent.Attempt != e.Of || sent.F != e.Op ||
			e.Op == history.Write && sent.Value != e.Value {
			errs = append(errs, fmt.Sprintf("event %d is tied to event %d", f.Pos, f.Sent))
		}
	}
	return errs
}

// ChartLegendErrors draws the lanes for a page and lists the classes of shapes that the legend does not explain. Names
// and lines of the plan explain the others.
func ChartLegendErrors(l *Lanes) (errs []string) {
	c := l.chart()
	page := html.NewWriter("", "")
	page.Put(c.legend())
	if l.severalMayHold() && strings.Contains(page.Body(), "in line") {
		errs = append(errs, "keys are said to wait in line, although several clients may hold the lock at once")
	}
	explained := func(class string) bool {
		if colors := regexp.MustCompile(`^c\d$`); colors.MatchString(class) {
			return strings.Contains(page.Body(), `"swatch `+class+`"`)
		}
		for _, entry := range legends {
			if entry.class == class {
				return strings.Contains(page.Body(), `"`+entry.swatch+`"`)
			}
		}
		return slices.Contains([]string{"section", "caption", "key", "effect", "fault", "instant", "fault-label"},
			class)
	}
	for i := range c.Shapes {
		for class := range strings.FieldsSeq(c.Shapes[i].Class) {
			if e := class + " is drawn and not in the legend"; !explained(class) && !slices.Contains(errs, e) {
				errs = append(errs, e)
			}
		}
	}
	for _, name := range c.Clients {
		if !regexp.MustCompile(`[>, ]` + regexp.QuoteMeta(name) + `[,<]`).MatchString(page.Body()) {
			errs = append(errs, name+" is drawn and not in the legend")
		}
	}
	return errs
}
