package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// playing is an open fencepost play page and the command that serves it.
type playing struct {
	*tab
	machine *machine
	server  *exec.Cmd
	url     string
}

// play serves a page and opens it.
func (m *machine) play(t *testing.T, s screen, args ...string) *playing {
	t.Helper()
	c := exec.Command(m.program, append([]string{"play"}, args...)...)
	c.Dir = m.dir
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGINT)
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p := &playing{machine: m, server: c, url: strings.TrimSpace(line)}
	p.tab = p.again(t, s, "")
	return p
}

// again opens the same page a second time, with a fragment in its URL.
func (p *playing) again(t *testing.T, s screen, fragment string) *tab {
	t.Helper()
	opened := p.machine.visit(t, p.url+fragment, s, func(asked string) bool {
		return strings.HasPrefix(asked, p.url) || strings.HasPrefix(asked, "blob:")
	})
	opened.until("no verdict is shown", `document.getElementById("verdict").dataset.is`)
	return opened
}

// becomes waits until the page shows the given verdict.
func (p *tab) becomes(verdict string) {
	p.Helper()
	p.until("the verdict does not become "+verdict, fmt.Sprintf(`document.getElementById("verdict").dataset.is === %q && !document.body.classList.contains("dragging")`, verdict))
}

// lines returns the plan's lines as they appear in its text box.
func (p *tab) lines() []string {
	p.Helper()
	return strings.Split(value[string](p, `document.getElementById("plan").value`), "\n")
}

// place returns a point in the picture in screen coordinates. The JavaScript expression computes the point's x; in it,
// f is the rectangle of the first fault, and t(seconds) is the position of a true time. The point's y is the middle of
// f.
func (p *tab) place(expression string) (x, y float64) {
	p.Helper()
	at := value[[2]float64](p, `(() => {
		document.querySelector("#chart").scrollIntoView({block: "center"});
		document.querySelector(".plot").scrollLeft = 1e6;
		const f = document.querySelector("#chart .box.fault rect").getBoundingClientRect(), c = document.querySelector("#chart").getBoundingClientRect();
		const t = seconds => c.left + fencepostPicture().x(seconds * 1e9);
		return [`+expression+`, f.top + f.height / 2];
	})()`)
	return at[0], at[1]
}

const ofEnd, ofMiddle = "f.right - 1", "f.left + f.width / 2"

func TestADraggedEndMendsTheLock(t *testing.T) {
	m := theMachine(t)
	t.Run("mouse", func(t *testing.T) {
		p := m.play(t, screens[0])
		p.becomes("broken")
		x, y := p.place(ofEnd)
		to, _ := p.place("t(6)")
		p.do(input.DispatchMouseEvent(input.MouseMoved, x, y),
			input.DispatchMouseEvent(input.MousePressed, x, y).WithButton(input.Left).WithClickCount(1),
			input.DispatchMouseEvent(input.MouseMoved, (x+to)/2, y).WithButton(input.Left))
		p.until("nothing follows the pointer", `document.body.classList.contains("dragging")`)
		p.do(input.DispatchMouseEvent(input.MouseMoved, to, y).WithButton(input.Left),
			input.DispatchMouseEvent(input.MouseReleased, to, y).WithButton(input.Left).WithClickCount(1))
		p.becomes("held")
		p.hasShrunk()
	})
	t.Run("touch", func(t *testing.T) {
		p := m.play(t, screens[2])
		p.becomes("broken")
		x, y := p.place(ofEnd)
		to, _ := p.place("t(6)")
		finger := func(x float64) []*input.TouchPoint { return []*input.TouchPoint{{X: x, Y: y}} }
		p.do(input.DispatchTouchEvent(input.TouchStart, finger(x)),
			input.DispatchTouchEvent(input.TouchMove, finger((x+to)/2)),
			input.DispatchTouchEvent(input.TouchMove, finger(to)))
		p.until("nothing follows the finger", `document.body.classList.contains("dragging")`)
		p.do(input.DispatchTouchEvent(input.TouchEnd, []*input.TouchPoint{}))
		p.becomes("held")
		p.hasShrunk()
	})
	t.Run("keys", func(t *testing.T) {
		p := m.play(t, screens[0])
		p.becomes("broken")
		p.tabTo(".fault[data-fault]")
		for range 12 {
			before := p.lines()[0]
			p.do(chromedp.KeyEvent("{", chromedp.KeyModifiers(input.ModifierShift)))
			p.until("the key changes nothing", fmt.Sprintf(`document.getElementById("plan").value !== %q`, before))
			p.until("the fault has lost the focus", `document.activeElement.matches(".fault[data-fault]")`)
			if value[string](p.tab, `document.getElementById("verdict").dataset.is`) == "held" {
				p.hasShrunk()
				return
			}
		}
		t.Error("the end was pulled twelve times, and the lock is still broken")
	})
}

// hasShrunk checks that the pause still strikes at the same time but is shorter.
func (p *playing) hasShrunk() {
	p.Helper()
	line := p.lines()[0]
	if !strings.HasPrefix(line, "pause client-1 for ") || !strings.HasSuffix(line, " after acquired") ||
		strings.Contains(line, "15s") {
		p.Errorf("the pause became %q", line)
	}
}

func TestADraggedFaultStrikesWhereItIsPut(t *testing.T) {
	p := theMachine(t).play(t, screens[0], "pause-while-acquiring")
	p.becomes("held")
	p.do(chromedp.Evaluate(`document.querySelector("button[data-do=true]").click()`, nil))
	x, y := p.place(ofMiddle)
	p.do(input.DispatchMouseEvent(input.MousePressed, x, y).WithButton(input.Left).WithClickCount(1),
		input.DispatchMouseEvent(input.MouseMoved, x+40, y).WithButton(input.Left),
		input.DispatchMouseEvent(input.MouseReleased, x+40, y).WithButton(input.Left).WithClickCount(1))
	p.until("the fault stays where it was", `!document.getElementById("plan").value.includes("after quorum-reached")`)
	if line := p.lines()[0]; !strings.HasPrefix(line, "pause client-1 for 12s at ") {
		t.Errorf("the fault became %q", line)
	}
}

func TestEachKindOnThePalette(t *testing.T) {
	p := theMachine(t).play(t, screens[0], "failover-loses-lock")
	p.becomes("broken")
	kinds := value[[]string](p.tab, `[...document.querySelectorAll("#palette button")].map(b => b.textContent)`)
	if len(kinds) < 10 {
		t.Fatalf("the palette has only %q", kinds)
	}
	added, begun := 0, len(p.lines())
	for i, kind := range kinds {
		p.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelectorAll("#palette button")[%d].click()`, i), nil))
		if value[bool](p.tab, fmt.Sprintf(`document.querySelectorAll("#palette button")[%d].ariaDisabled === "true"`, i)) {
			if why := value[string](p.tab, `document.getElementById("lanes").textContent`); !strings.Contains(why, kind) {
				t.Errorf("%s is not accepted, and the reason is %q", kind, why)
			}
			continue
		}
		before := p.lines()
		p.do(chromedp.Evaluate(`document.querySelector("#lanes button").click()`, nil))
		p.until(kind+" is not added", fmt.Sprintf(`document.getElementById("plan").value.split("\n").length === %d`, len(before)+1))
		if !slices.Equal(p.lines()[:len(before)], before) {
			t.Errorf("%s changed other lines: %q to %q", kind, before, p.lines())
		}
		added++
	}
	for range added {
		n := len(p.lines())
		p.do(chromedp.Evaluate(`document.getElementById("undo").click()`, nil))
		p.until("undo takes nothing back", fmt.Sprintf(`document.getElementById("plan").value.split("\n").length === %d`, n-1))
	}
	p.becomes("broken")
	if !value[bool](p.tab, `document.getElementById("undo").disabled`) {
		t.Error("after everything is undone there is more to undo")
	}
	p.do(chromedp.Evaluate(`document.getElementById("redo").click()`, nil))
	p.until("redo brings nothing back", fmt.Sprintf(`document.getElementById("plan").value.split("\n").length === %d`, begun+1))
}

func TestAKindIsDraggedOntoALane(t *testing.T) {
	p := theMachine(t).play(t, screens[0])
	p.becomes("broken")
	from := value[[2]float64](p.tab, `(() => { document.getElementById("palette").scrollIntoView({block: "end"}); const r = document.querySelector("#palette button").getBoundingClientRect(); return [r.left + 9, r.top + 9]; })()`)
	to := value[[2]float64](p.tab, `(() => { const row = [...document.querySelectorAll("#chart .row")].find(r => r.textContent.includes("redis-2")).getBoundingClientRect(); return [row.left + row.width / 2, row.top + 5]; })()`)
	p.do(input.DispatchMouseEvent(input.MousePressed, from[0], from[1]).WithButton(input.Left).WithClickCount(1),
		input.DispatchMouseEvent(input.MouseMoved, to[0], to[1]).WithButton(input.Left),
		input.DispatchMouseEvent(input.MouseReleased, to[0], to[1]).WithButton(input.Left).WithClickCount(1))
	p.until("nothing is added", `document.getElementById("plan").value.includes("pause redis-2 for 15s at ")`)
}

func TestAMessageIsHeldUp(t *testing.T) {
	p := theMachine(t).play(t, screens[0])
	p.becomes("broken")
	p.do(chromedp.Evaluate(`document.getElementById("messages").click()`, nil))
	p.until("no messages are drawn", `document.querySelectorAll("#chart .message").length > 10`)
	p.do(chromedp.Evaluate(`document.querySelectorAll("button[data-do=in]").forEach(b => { for (let i = 0; i < 14; i++) b.click(); b.closest(".card").querySelector(".plot").focus(); })`, nil),
		chromedp.KeyEvent(kb.Home))
	at := value[[2]float64](p.tab, `(() => {
		document.querySelector("#chart").scrollIntoView({block: "center"});
		const inView = [...document.querySelectorAll("#chart .message[data-message] .target")].map(e => e.getBoundingClientRect()).filter(r => r.left > 150 && r.left < 900);
		return [inView[0].left + inView[0].width / 2, inView[0].top + inView[0].height / 2];
	})()`)
	p.do(input.DispatchMouseEvent(input.MousePressed, at[0], at[1]).WithButton(input.Left).WithClickCount(1),
		input.DispatchMouseEvent(input.MouseMoved, at[0]+120, at[1]).WithButton(input.Left),
		input.DispatchMouseEvent(input.MouseReleased, at[0]+120, at[1]).WithButton(input.Left).WithClickCount(1))
	p.until("no message follows the pointer", `document.getElementById("plan").value.includes("delay the ")`)
	p.do(chromedp.Evaluate(`document.getElementById("undo").click()`, nil))
	p.until("undo does not take it back", `!document.getElementById("plan").value.includes("delay the ")`)
	p.do(chromedp.Evaluate(`document.getElementById("message").selectedIndex = 0; document.getElementById("delay").click()`, nil))
	p.until("no message is held up", `document.getElementById("plan").value.includes("delay the ") && document.getElementById("plan").value.includes(" by 1s")`)
	p.do(chromedp.Evaluate(`document.getElementById("later").value = "soon"; document.getElementById("delay").click()`, nil))
	p.until("a wrong duration is accepted", `document.getElementById("plan-problem").textContent.includes('found "soon"')`)
}

func TestALinkHoldsAllOfIt(t *testing.T) {
	p := theMachine(t).play(t, screens[0])
	p.becomes("broken")
	for _, change := range []string{
		`document.getElementById("seed").value = "18446744073709551615";
		document.getElementById("seed").dispatchEvent(new Event("change"))`,
		`document.getElementById("plan").value =
			"pause client-1 for 9s after acquired\njump redis-2 clock by +3s at 1s";
		document.getElementById("plan").dispatchEvent(new Event("input"))`,
	} {
		p.until("there is no link", `location.hash.length > 100`)
		before := value[string](p.tab, "location.hash")
		p.do(chromedp.Evaluate(change, nil))
		p.until("the link does not follow", fmt.Sprintf("location.hash !== %q", before))
	}
	p.becomes("held")
	shown := `document.getElementById("above").textContent + document.getElementById("below").textContent`
	link, want := value[string](p.tab, "location.hash"), value[string](p.tab, shown)
	other := p.again(t, screens[0], link)
	if got := value[string](other, shown); got != want {
		t.Errorf("the link shows another run:\n%s\n%s", got, want)
	}
	says := func(words string) string {
		return fmt.Sprintf(`document.getElementById("problem").textContent.includes(%q)`, words)
	}
	p.again(t, screens[0], link[:40]).until("a damaged link is not reported", says("damaged"))
	p.again(t, screens[0], p.link(`"name: x"`, "18446744073709551616")).until("a seed that is too large is not reported",
		says("damaged"))
	large := p.again(t, screens[0], p.link(`"#".repeat(6e7)`, "1"))
	large.until("a link that unpacks to very much is not refused", says("more than 4 MiB"))
	if used := value[float64](large, "performance.memory.usedJSHeapSize"); used > 3e7 {
		t.Errorf("a link of 60 KB takes %.0f bytes", used)
	}
}

func TestAWrongLineChangesNothing(t *testing.T) {
	p := theMachine(t).play(t, screens[0])
	p.becomes("broken")
	before := value[string](p.tab, `document.getElementById("above").innerHTML`)
	p.do(chromedp.Evaluate(`document.getElementById("plan").value = "pause client-1 for 15s after acquired\npaus client-9 for 1s at 1s"; document.getElementById("plan").dispatchEvent(new Event("input"))`, nil))
	p.until("the mistake is not reported", `document.getElementById("plan-problem").textContent.includes("line 2")`)
	if says := value[string](p.tab, `document.getElementById("plan-problem").textContent`); !strings.Contains(says, `"pause"`) {
		t.Errorf("the nearest right word is missing: %s", says)
	}
	if value[string](p.tab, `document.getElementById("above").innerHTML`) != before {
		t.Error("the picture changed")
	}
	p.do(chromedp.Evaluate(`document.getElementById("text").value = "name: x"; document.getElementById("apply").click()`, nil))
	p.until("a wrong text is not reported", `document.getElementById("text-problem").textContent.includes("servers")`)
}

func TestTwoPagesAFileThatGoesAndAServerThatEnds(t *testing.T) {
	m := theMachine(t)
	file := filepath.Join(m.dir, "mine.yaml")
	if err := os.WriteFile(file, []byte(scenarios["surprising.yaml"]), 0o666); err != nil {
		t.Fatal(err)
	}
	p := m.play(t, screens[0], "mine.yaml")
	p.becomes("broken")
	other := p.again(t, screens[0], "")
	p.do(page.BringToFront(), chromedp.Evaluate(`document.getElementById("plan").value = ""; document.getElementById("plan").dispatchEvent(new Event("input"))`, nil))
	p.becomes("held")
	other.do(page.BringToFront())
	other.becomes("broken")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.again(t, screens[0], "").becomes("broken")
	p.server.Process.Signal(syscall.SIGINT)
	p.server.Wait()
	other.do(page.BringToFront(), chromedp.Evaluate(`document.getElementById("plan").value = ""; document.getElementById("plan").dispatchEvent(new Event("input"))`, nil))
	other.until("nobody says that the server has ended", `document.getElementById("problem").textContent.includes("fencepost play")`)
}

// TestTheTour answers each of the tour's questions by changing the lines of the plan or, if the question asks for it, a
// setting.
func TestTheTour(t *testing.T) {
	p := theMachine(t).play(t, screens[0])
	p.becomes("broken")
	var tour []struct{ Question, Scenario string }
	if err := json.Unmarshal([]byte(value[string](p.tab, `JSON.stringify(JSON.parse(document.getElementById("data").textContent).tour)`)), &tour); err != nil {
		t.Fatal(err)
	}
	answers := []struct{ from, to, key, value string }{
		{from: "for 15s", to: "for 5s"}, {from: "after quorum-reached", to: "at 200ms"}, {from: "at 1s", to: "at 20s"},
		{from: "restart after 10ms", to: "restart after 12s"}, {from: "restart after 11s", to: "restart after 2s"},
		{from: "by 90s", to: "by 1s"}, {key: "resource.fencing", value: "on"}, {key: "resource.fencing", value: "off"},
	}
	if len(tour) != len(answers) {
		t.Fatalf("the tour has %d steps", len(tour))
	}
	for i, a := range answers {
		if i == 0 {
			p.do(chromedp.Evaluate(`document.getElementById("tour-open").click()`, nil))
		} else {
			p.do(chromedp.Evaluate(`document.getElementById("tour-next").click()`, nil))
		}
		p.until("the next step does not come", fmt.Sprintf(`document.getElementById("tour-question").textContent === %q && document.getElementById("tour-answer").textContent === "" && document.querySelector("#above h1").textContent === %q`, tour[i].Question, tour[i].Scenario))
		if a.key != "" {
			p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.getElementById("set-%s"); e.value = %q; e.dispatchEvent(new Event("change")); })()`, a.key, a.value), nil))
		} else {
			p.until("its faults do not come", fmt.Sprintf(`document.getElementById("plan").value.includes(%q)`, a.from))
			p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.getElementById("plan"); e.value = e.value.replace(%q, %q); e.dispatchEvent(new Event("input")); })()`, a.from, a.to), nil))
		}
		p.until(fmt.Sprintf("step %d is not answered", i+1), `document.getElementById("tour-answer").textContent.startsWith("✓")`)
	}
}

func TestWhatIsAskedFurther(t *testing.T) {
	p := theMachine(t).play(t, screens[0])
	p.becomes("broken")
	for _, work := range []string{"cut", "explore", "advise"} {
		p.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector("[data-work=%s]").click()`, work), nil))
		p.until(work+" does not end", `document.getElementById("progress").textContent.startsWith("done") && !document.getElementById("found").hidden`)
		if n := value[int](p.tab, `document.querySelectorAll("#states button").length`); n == 0 {
			t.Errorf("%s proposes nothing to open", work)
		}
	}
	p.do(chromedp.Evaluate(`document.querySelector("[data-work=advise]").click(); setTimeout(() => document.getElementById("stop").click(), 50)`, nil))
	p.until("it cannot be stopped", `document.getElementById("progress").textContent === "stopped" && document.getElementById("stop").hidden`)
	p.do(chromedp.Evaluate(`[...document.querySelectorAll(".setting")].find(e => e.textContent.includes("faults.1.for")).querySelector("button").click()`, nil))
	p.until("no edge is found", `[...document.querySelectorAll(".edge")].some(e => e.textContent.includes("broken"))`)
	p.do(chromedp.Evaluate(`document.getElementById("take").click()`, nil))
	p.until("there is nothing to take along", `document.querySelectorAll("#files a").length === 5`)
}

func TestThePageOnEachScreen(t *testing.T) {
	m := theMachine(t)
	for _, s := range screens {
		t.Run(s.String(), func(t *testing.T) {
			p := m.play(t, s)
			p.becomes("broken")
			width := value[int64](p.tab, "Math.max(document.documentElement.scrollWidth, innerWidth)")
			if width != s.width {
				t.Errorf("the page is %d px wide: %q", width,
					value[[]string](p.tab, strings.ReplaceAll(outside, "WIDTH", fmt.Sprint(s.width))))
			}
			if name := os.Getenv("FENCEPOST_PICTURES"); name != "" {
				var shot []byte
				p.allInView(s)
				p.do(chromedp.CaptureScreenshot(&shot))
				if err := os.WriteFile(filepath.Join(name, "play "+s.String()+".png"), shot, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			p.standsOut(s)
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, c := range p.complaints {
				t.Error(c)
			}
		})
	}
}

// link returns a link that contains a seed and the value of text, which is a JavaScript expression.
func (p *playing) link(text, seed string) (link string) {
	p.do(chromedp.Evaluate(fmt.Sprintf(`(async () => {
	const packed = new Blob([JSON.stringify({text: %s, seed: %q})]).stream().pipeThrough(new CompressionStream("deflate-raw"));
	const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
	let text = "";
	for (const b of bytes) text += String.fromCharCode(b);
	return "#" + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
})()`, text, seed), &link, awaited))
	return link
}
