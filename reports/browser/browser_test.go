package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// scenarios contains scenario files for the pages: a lock that is quickly verified, a lock that a single fault breaks,
// and a scenario with an outcome that contradicts the expectation in its file.
var scenarios = map[string]string{
	"sound.yaml": `name: sound
servers: {redis: 1, persistence: {append-fsync: always}}
lock: {protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}}
promise: [ownership]
`,
	"broken.yaml": `name: broken
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}}
promise: [mutual-exclusion]
`,
	"surprising.yaml": `name: surprising
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}}
faults:
  - pause client-1 for 5s after acquired
`,
}

// kinds lists the kinds of pages that fencepost writes, with the command lines that write them to page.html.
var kinds = []struct{ name, call string }{
	{"run", "run kleppmann-gc-pause"},
	{"run of five servers", "run restart-forgets"},
	{"exploration", "explore broken.yaml --seeds 40"},
	{"sweep of one key", "sweep delayed-restart --vary restart=0s..12s/4s --seeds 2"},
	{"sweep of two keys",
		"sweep delayed-restart --vary restart=0s..2s/1s --vary ttl=1s..2s/500ms --set hold=validity " +
			"--seeds 2 --resolution 100ms --law lease-exclusion --assert " +
			"lease-exclusion_holds_when_restart_>=_ttl_*_0.5"},
	{"verification that holds", "verify sound.yaml --faults 0"},
	{"verification with a counterexample", "verify broken.yaml"},
	{"comparison", "compare --seeds 2"},
	{"runs as expected", "run kleppmann-gc-pause --seeds 10"},
	{"runs that surprise", "run surprising.yaml --seeds 10"},
}

// machine holds the program built for the tests, the pages that it has written, and a browser.
type machine struct {
	dir     string
	program string
	pages   map[string]string // the file of each kind of page
	browser context.Context
}

// started is the machine that TestMain must stop. It is nil if no test needed a machine.
var started *machine

// start builds the program, makes it write its pages, and starts the browser.
var start = sync.OnceValues(func() (*machine, error) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fencepost-pages-")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "fencepost")
	m := &machine{dir: dir, program: program, pages: map[string]string{}}
	build := exec.Command("go", "build", "-o", program, "./cmd/fencepost")
	build.Dir = "../.."
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	for name, text := range scenarios {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	for i, k := range kinds {
		m.pages[k.name] = filepath.Join(dir, fmt.Sprintf("page-%d.html", i))
		args := append(strings.Fields(k.call), "--html", m.pages[k.name])
		for i := range args {
			if strings.Contains(args[i], "_holds_when_") {
				args[i] = strings.ReplaceAll(args[i], "_", " ")
			}
		}
		c := exec.Command(program, args...)
		c.Dir = dir
		text, err := c.CombinedOutput()
		// ignore the exit code, which only says what was found
		if _, failed := os.Stat(m.pages[k.name]); failed != nil {
			return nil, fmt.Errorf("fencepost %s: %v: %s", k.call, err, text)
		}
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(chromium), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.WSURLReadTimeout(time.Minute)}
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-renderer-backgrounding",
		"disable-backgrounding-occluded-windows", "disable-component-update", "disable-sync", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	at, _ := chromedp.NewExecAllocator(context.Background(), options...)
	m.browser, _ = chromedp.NewContext(at)
	started = m
	return m, chromedp.Run(m.browser)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if started != nil {
		chromedp.Cancel(started.browser)
		os.RemoveAll(started.dir)
	}
	os.Exit(code)
}

// theMachine returns the machine that all tests share, which it starts on the first call. If there is no browser, it
// skips the test. If FENCEPOST_FULL is set, as it is for these tests in .ci/run, the test fails instead.
func theMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil && os.Getenv("FENCEPOST_FULL") == "" {
		t.Skip("no page is tried in a browser: chromium is not on PATH")
	}
	m, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// screen is the size and kind of screen that a page is shown on.
type screen struct {
	width, height int64
	dark, touch   bool
}

func (s screen) String() string {
	theme := "light"
	if s.dark {
		theme = "dark"
	}
	return fmt.Sprintf("%d px, %s", s.width, theme)
}

// screens lists a desktop and a phone, each with the light and the dark theme.
var screens = []screen{{1400, 900, false, false}, {1400, 900, true, false}, {360, 740, false, true},
	{360, 740, true, true}}

// tab is an open page.
type tab struct {
	*testing.T
	context.Context
	mu         sync.Mutex
	complaints []string // errors on the console
	requests   []string // URLs that the page may not request
}

// open opens a page of the given kind. The page must not request anything except itself.
func (m *machine) open(t *testing.T, kind string, s screen) *tab {
	t.Helper()
	url := "file://" + m.pages[kind]
	return m.visit(t, url, s, func(asked string) bool { return asked == url })
}

// visit opens a page. The test fails if the page requests a URL that is not allowed.
func (m *machine) visit(t *testing.T, url string, s screen, allows func(asked string) bool) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(m.browser)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 15*time.Minute)
	t.Cleanup(stop)
	opened := &tab{T: t, Context: ctx}
	t.Cleanup(func() {
		opened.mu.Lock()
		defer opened.mu.Unlock()
		for _, url := range opened.requests {
			t.Errorf("the page asks for %s", url)
		}
	})
	chromedp.ListenTarget(ctx, func(ev any) {
		said := ""
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			said = ev.ExceptionDetails.Error()
		case *runtime.EventConsoleAPICalled:
			said = fmt.Sprintf("console.%s", ev.Type)
		case *log.EventEntryAdded:
			said = ev.Entry.Text
		case *network.EventRequestWillBeSent:
			if !allows(ev.Request.URL) {
				opened.mu.Lock()
				opened.requests = append(opened.requests, ev.Request.URL)
				opened.mu.Unlock()
			}
		}
		if said != "" {
			opened.mu.Lock()
			opened.complaints = append(opened.complaints, said)
			opened.mu.Unlock()
		}
	})
	theme := map[bool]string{false: "light", true: "dark"}[s.dark]
	opened.do(network.Enable(), log.Enable(),
		emulation.SetDeviceMetricsOverride(s.width, s.height, 1, s.touch), emulation.SetTouchEmulationEnabled(s.touch),
		emulation.SetEmulatedMedia().WithFeatures(
			[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
		page.BringToFront(), chromedp.Navigate(url))
	return opened
}

func (p *tab) do(actions ...chromedp.Action) {
	p.Helper()
	if err := chromedp.Run(p.Context, actions...); err != nil {
		p.Fatal(err)
	}
}

// value evaluates an expression in the page.
func value[T any](p *tab, expression string) (v T) {
	p.Helper()
	p.do(chromedp.Evaluate(expression, &v))
	return v
}

// until waits until an expression is true and no part of the page is busy. If that takes too long, the test fails with
// the given message.
func (p *tab) until(what, expression string) {
	p.Helper()
	expression = `!document.querySelector("[aria-busy=true]") && (` + expression + ")"
	err := chromedp.Run(p.Context, chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(2*time.Minute)))
	if err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}
