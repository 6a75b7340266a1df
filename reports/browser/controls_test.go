package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// view is a JavaScript expression for the positions of the witness events in the timeline. They change whenever the
// user zooms or pans.
const view = `[...document.querySelectorAll("#chart .pin")].map(e => e.getAttribute("transform")).join()`

// changes performs actions and waits until the view has changed.
func (p *tab) changes(what string, actions ...chromedp.Action) {
	p.Helper()
	before := value[string](p, view)
	p.do(actions...)
	p.until(what+" changes nothing", fmt.Sprintf("%s !== %q", view, before))
}

// whole makes the timeline show the whole run again.
func (p *tab) whole(home string) {
	p.Helper()
	p.do(chromedp.Evaluate(`document.querySelector("button[data-do=fit]").click()`, nil))
	p.until("the whole run is not shown again", fmt.Sprintf("%s === %q", view, home))
}

// middle scrolls the first match for a selector into view and returns the position of its center on the screen.
func (p *tab) middle(selector string) (x, y float64) {
	p.Helper()
	var at [2]float64
	p.do(chromedp.Evaluate(fmt.Sprintf(`new Promise(done => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: "center"});
		requestAnimationFrame(() => requestAnimationFrame(() => {
			const r = e.getBoundingClientRect();
			done([r.left + Math.min(r.width, innerWidth) / 2, r.top + r.height / 2]);
		}));
	})`, selector), &at, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return at[0], at[1]
}

// tabTo presses Tab until a match for the selector has the focus.
func (p *tab) tabTo(selector string) {
	p.Helper()
	p.do(chromedp.Evaluate(`document.activeElement.blur(); getSelection().collapse(document.body, 0)`, nil))
	for range 200 {
		p.do(chromedp.KeyEvent(kb.Tab))
		if value[bool](p, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
	}
	p.Fatalf("Tab does not lead to %s", selector)
}

func wheel(x, y, by float64, modifiers ...input.Modifier) chromedp.Action {
	e := input.DispatchMouseEvent(input.MouseWheel, x, y).WithDeltaX(0).WithDeltaY(by)
	for _, m := range modifiers {
		e = e.WithModifiers(m)
	}
	return e
}

func TestTheWheelScrollsThePageAndZoomsWithCtrl(t *testing.T) {
	p := theMachine(t).open(t, "run", screens[0])
	x, y := p.middle("#chart")
	before, at := value[string](p, view), value[float64](p, "scrollY")
	p.do(wheel(x, y, 200))
	p.until("the wheel over the timeline does not scroll the page", fmt.Sprintf("scrollY > %f", at))
	if after := value[string](p, view); after != before {
		t.Errorf("the wheel changes the timeline from %s to %s", before, after)
	}
	x, y = p.middle("#chart")
	at = value[float64](p, "scrollY")
	p.changes("Ctrl and wheel", wheel(x, y, -200, input.ModifierCtrl))
	if after := value[float64](p, "scrollY"); after != at {
		t.Errorf("Ctrl and wheel scroll the page from %f to %f", at, after)
	}
}

func TestTheTimelineIsUsedByMouse(t *testing.T) {
	p := theMachine(t).open(t, "run", screens[0])
	home := value[string](p, view)
	click := func(name string) chromedp.Action { return chromedp.Click("button[data-do=" + name + "]") }
	p.changes("zooming in", click("in"))
	p.changes("zooming out", click("out"))
	p.changes("zooming in", click("in"))
	p.changes("the witness", click("witness"))
	p.changes("zooming in", click("in"))
	p.changes("the whole run", click("fit"))
	const pressed = `document.querySelector("button[data-do=true]").ariaPressed`
	before := value[string](p, pressed) // this run is drawn at true scale from the start
	p.changes("the other scale", click("true"))
	if after := value[string](p, pressed); before != "true" || after != "false" {
		t.Errorf("true scale is pressed: %s, and after a click: %s", before, after)
	}
	p.changes("true scale again", click("true"))
	p.whole(home)
	p.changes("zooming in", click("in"))
	x, y := p.middle("#chart")
	mouse := func(kind input.MouseType, x float64) chromedp.Action {
		return input.DispatchMouseEvent(kind, x, y).WithButton(input.Left).WithButtons(1).WithClickCount(1)
	}
	p.changes("dragging", mouse(input.MousePressed, x), mouse(input.MouseMoved, x-40), mouse(input.MouseMoved, x-80),
		mouse(input.MouseReleased, x-80))
	p.whole(home)
	p.changes("a line of the witness", chromedp.Click(".witness li:nth-child(3)"))
	p.whole(home)
	p.do(chromedp.Click(".pin:nth-last-child(2) circle"))
	p.until("a number does not lead to its line", `document.activeElement.matches(".witness li")`)
}

func TestTheTimelineIsUsedByKeyboard(t *testing.T) {
	p := theMachine(t).open(t, "run", screens[0])
	home := value[string](p, view)
	for _, name := range []string{"in", "out", "witness", "fit", "true"} {
		if name != "in" && name != "true" {
			p.do(chromedp.Evaluate(`document.querySelector("button[data-do=in]").click()`, nil))
		}
		p.tabTo("button[data-do=" + name + "]")
		p.changes("Enter on "+name, chromedp.KeyEvent(kb.Enter))
	}
	p.changes("Space on true scale", chromedp.KeyEvent(" "))
	p.whole(home)
	p.tabTo(".plot")
	for _, key := range []string{"+", "-", "=", kb.ArrowRight, kb.ArrowLeft, kb.End, kb.Home, "0"} {
		p.changes(fmt.Sprintf("the key %q", key), chromedp.KeyEvent(key))
	}
	if after := value[string](p, view); after != home {
		t.Errorf("0 shows %s, not %s", after, home)
	}
	p.tabTo(".witness li:nth-child(3)")
	p.changes("Enter on a line of the witness", chromedp.KeyEvent(kb.Enter))
	p.tabTo(".pin")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("Enter on a number does not lead to its line", `document.activeElement.matches(".witness li")`)
}

// On a phone, the plot is wider than the screen. It scrolls inside a frame while the names stay in place, and the user
// can drag it.
func TestTheTimelineIsUsedByTouch(t *testing.T) {
	p := theMachine(t).open(t, "run", screens[2])
	name := `document.querySelector("#chart .name").getBoundingClientRect().left`
	left := value[float64](p, name)
	x, y := p.middle(".plot")
	finger := func(kind input.TouchType, x float64) chromedp.Action {
		if kind == input.TouchEnd {
			return input.DispatchTouchEvent(kind, []*input.TouchPoint{})
		}
		return input.DispatchTouchEvent(kind, []*input.TouchPoint{{X: x, Y: y}})
	}
	p.do(finger(input.TouchStart, x), finger(input.TouchMove, x-30), finger(input.TouchMove, x-90),
		finger(input.TouchMove, x-120), finger(input.TouchEnd, 0))
	p.until("dragging does not move the timeline", `document.querySelector(".plot").scrollLeft > 20`)
	p.until("the names scroll away", fmt.Sprintf("Math.abs(%s - %f) < 1", name, left))
}

const tip = `!document.getElementById("tip").hidden && document.getElementById("tip").textContent`

// TestLawsAreExplained checks that the explanation of a law appears on hover, on focus, on Enter and, on a phone, on
// tap. It must disappear when the pointer leaves the law and on Escape. On a phone, it must fit the screen.
func TestLawsAreExplained(t *testing.T) {
	const says = "critical sections of one lock never overlap"
	shown, hidden := fmt.Sprintf("(%s) === %q", tip, says), `document.getElementById("tip").hidden`
	law := `//button[@class="says"][text()="mutual-exclusion"]`
	for _, s := range []screen{screens[0], screens[2]} {
		for _, kind := range []string{"run", "exploration", "sweep of one key", "verification with a counterexample",
			"runs that surprise"} {
			p := theMachine(t).open(t, kind, s)
			p.do(chromedp.Evaluate(`for (const b of document.querySelectorAll("button.says")) b.id = b.textContent`,
				nil),
				chromedp.WaitVisible(law))
			x, y := p.middle("#mutual-exclusion")
			if s.touch {
				p.do(input.DispatchTouchEvent(input.TouchStart, []*input.TouchPoint{{X: x, Y: y}}),
					input.DispatchTouchEvent(input.TouchEnd, []*input.TouchPoint{}))
				p.until(kind+": no explanation by tap", shown)
				box := value[[]float64](p,
					`(r => [r.left, r.right])(document.getElementById("tip").getBoundingClientRect())`)
				if box[0] < 0 || box[1] > float64(s.width) {
					t.Errorf("%s: the explanation reaches from %f to %f", kind, box[0], box[1])
				}
				continue
			}
			p.do(chromedp.MouseEvent(input.MouseMoved, x, y))
			p.until(kind+": no explanation by hover", shown)
			p.do(chromedp.MouseEvent(input.MouseMoved, 5, 5))
			p.until(kind+": the explanation stays", hidden)
			p.tabTo("#mutual-exclusion")
			p.until(kind+": no explanation by focus", shown)
			p.do(chromedp.KeyEvent(kb.Escape))
			p.until(kind+": the explanation stays", hidden)
			p.do(chromedp.KeyEvent(kb.Enter))
			p.until(kind+": no explanation by Enter", shown)
		}
	}
}

func TestCommandsAreCopied(t *testing.T) {
	for _, k := range kinds {
		p := theMachine(t).open(t, k.name, screens[0])
		x, y := p.middle("button[data-do=copy]")
		p.do(chromedp.MouseClickXY(x, y))
		p.until(k.name+": the command is neither copied nor selected",
			`["copied", "selected"].includes(document.querySelector("button[data-do=copy]").textContent)`)
	}
}

// TestEveryControlIsKnownAndReached checks that every control, that is, every element that can be pressed or focused,
// is used by one of the tests above and can be reached with Tab.
func TestEveryControlIsKnownAndReached(t *testing.T) {
	known := []string{"button.says", "button[data-do=in]", "button[data-do=out]", "button[data-do=fit]",
		"button[data-do=witness]", "button[data-do=true]", "button[data-do=copy]", ".plot", ".pin", ".witness li",
		".scroll", "a[href]"}
	all := `[...document.querySelectorAll("button, a, input, select, summary, [tabindex], [onclick], [role=button]")]`
	for _, k := range kinds {
		p := theMachine(t).open(t, k.name, screens[0])
		strange := fmt.Sprintf(`.filter(e => !e.matches(%q)).map(e => e.outerHTML.slice(0, 120))`,
			strings.Join(known, ", "))
		for _, e := range value[[]string](p, all+strange) {
			t.Errorf("%s: no test uses %s", k.name, e)
		}
		n := value[int](p, all+`.map((e, i) => { e.dataset.nth = i; return e; }).length`)
		var reached []int
		for range n {
			p.do(chromedp.KeyEvent(kb.Tab))
			reached = append(reached, value[int](p, "+(document.activeElement.dataset.nth ?? -1)"))
		}
		slices.Sort(reached)
		if got := len(slices.Compact(reached)); got != n || reached[0] < 0 {
			t.Errorf("%s: Tab reaches %d of %d controls", k.name, got, n)
		}
	}
}
