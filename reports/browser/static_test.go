package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// asks is a JavaScript function that runs each scenario in the catalog with the given number of seeds, starting with
// seed 1, one request at a time. It returns the digests, and how many milliseconds each run took to reach the verdict
// and the whole report.
const asks = `(async seeds => {
	const data = JSON.parse(document.getElementById("data").textContent);
	let line;
	if (data.served) line = async text => {
		const lines = (await (await fetch("ask", {method: "POST", body: text})).text()).trim().split("\n");
		return JSON.parse(lines[lines.length - 1]).answer;
	};
	else {
		const worker = new Worker("worker.js");
		line = text => new Promise((done, failed) => {
			worker.onmessage = ev => ev.data.answer ? done(ev.data.answer) : failed(new Error(ev.data.failed));
			worker.postMessage({number: 1, request: text});
		});
	}
	const digests = {}, verdicts = [], took = [];
	for (const section of data.catalogue) for (const {name} of section.scenarios) {
		const edit = {do: "scenario", value: name};
		const {text} = (await line(JSON.stringify({do: "show", text: "", seed: "1", edit}))).shown;
		for (let seed = 1; seed <= seeds; seed++) {
			const began = performance.now();
			await line(JSON.stringify({do: "show", text, seed: String(seed), rough: true}));
			verdicts.push(performance.now() - began);
			const answer = await line(JSON.stringify({do: "show", text, seed: String(seed)}));
			took.push(performance.now() - began - verdicts[verdicts.length - 1]);
			digests[name + " " + seed] = answer.shown.digest;
		}
	}
	return {digests, verdicts, took};
})`

// awaited makes an evaluation wait for the promise returned by the expression.
func awaited(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }

type asked struct {
	Digests  map[string]string
	Verdicts []float64 // milliseconds to the verdict, sorted
	Took     []float64 // milliseconds to the whole report, sorted
}

// askAll calls the JavaScript function in asks on an open page.
func (p *tab) askAll(seeds int) (all asked) {
	p.Helper()
	p.do(chromedp.Evaluate(fmt.Sprintf("%s(%d)", asks, seeds), &all, awaited))
	slices.Sort(all.Took)
	slices.Sort(all.Verdicts)
	return all
}

// mostSent is the maximum number of bytes that a visitor should have to load over a mobile connection.
const mostSent = 4_100_000

// TestThePageAsFiles writes the page as files for a web host. The page must show the same runs as the served page, with
// equal digests, and may request only its own files.
func TestThePageAsFiles(t *testing.T) {
	m := theMachine(t)
	dir := filepath.Join(m.dir, "site")
	write := exec.Command(m.program, "play", "--static", dir)
	write.Dir = "../.."
	text, err := write.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	t.Logf("%s", text)
	sent := int64(0)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range files {
		file, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) != "scoreboard.html" { // this is a separate page, which the page of play only links to
			sent += file.Size()
		}
	}
	if err != nil || len(files) < 4 || sent > mostSent {
		t.Errorf("%d bytes are sent, %v: %v", sent, files, err)
	}
	file := "file://" + dir + "/index.html"
	m.visit(t, file, screens[0], func(asked string) bool { return strings.HasPrefix(asked, "file://"+dir) }).until(
		"a page that is opened as a file does not say what to do",
		`document.getElementById("problem").textContent.includes("only from a web server") && `+
			`document.getElementById("above").textContent === ""`)
	host := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer host.Close()
	still := m.visit(t, host.URL+"/", screens[0], func(asked string) bool {
		return strings.HasPrefix(asked, host.URL+"/")
	})
	still.becomes("broken")
	t.Logf("first verdict after %.0f ms", value[float64](still, `+document.getElementById("verdict").dataset.at`))
	seeds := 1
	if full() {
		seeds = 20
	}
	want := m.play(t, screens[0]).askAll(seeds)
	got := still.askAll(seeds)
	for where, all := range map[string]asked{"served": want, "as files": got} {
		n := len(all.Took)
		t.Logf("%s: %d verdicts, median %.1f ms, p99 %.1f ms; whole reports %.1f and %.1f ms", where, n,
			all.Verdicts[n/2], all.Verdicts[n*99/100], all.Took[n/2], all.Took[n*99/100])
		if n < 100*seeds || len(all.Digests) < 100*seeds {
			t.Errorf("%s: only %d answers, with %d digests", where, n, len(all.Digests))
		}
	}
	for name, digest := range got.Digests {
		if digest != want.Digests[name] {
			t.Errorf("%s: %s, and served %s", name, digest, want.Digests[name])
		}
	}
}

// full reports whether this is a full run. In short mode, which .ci/run uses, FENCEPOST_FULL only means that there must
// be a browser.
func full() bool { return os.Getenv("FENCEPOST_FULL") != "" && !testing.Short() }

// TestAThousandGestures moves a fault with the keyboard a thousand times, and checks that the page's memory does not
// grow by more than 5 MB.
func TestAThousandGestures(t *testing.T) {
	if !full() {
		t.Skip("a thousand gestures take a minute; FENCEPOST_FULL=1 makes them")
	}
	p := theMachine(t).play(t, screens[0])
	p.becomes("broken")
	size := func() float64 {
		return value[float64](p.tab, `(globalThis.gc && gc(), performance.memory.usedJSHeapSize / 1e6)`)
	}
	pull := func(n int) {
		p.do(chromedp.Evaluate(fmt.Sprintf(`new Promise(done => {
			let left = %d;
			addEventListener("answered", function again() {
				if (left-- <= 0) { removeEventListener("answered", again); return done(); }
				document.querySelector(".fault[data-fault]").dispatchEvent(new KeyboardEvent("keydown", {key: left %% 2 ? "[" : "]", bubbles: true}));
			});
			document.querySelector(".fault[data-fault]").dispatchEvent(new KeyboardEvent("keydown", {key: "[", bubbles: true}));
		})`, n), nil, awaited))
	}
	pull(100)
	before := size()
	pull(1000)
	after := size()
	t.Logf("the page holds %.1f MB after 100 gestures, %.1f MB after 1,100", before, after)
	if after > before+5 {
		t.Errorf("the page holds %.1f MB after 100 gestures, and %.1f MB after 1,100", before, after)
	}
}
