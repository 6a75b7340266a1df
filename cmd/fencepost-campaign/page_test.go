package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// get requests a page.
func get(t *testing.T, url, host string) (text string, r *http.Response) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = host
	if r, err = http.DefaultClient.Do(q); err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), r
}

var aPage = regexp.MustCompile(`http://127\.0\.0\.1:\d+/[A-Z0-9]{26}/campaign\.html`)

// The page shows the current state of the campaign. It lists the findings so far by law and cause, and links to the run
// that shows each finding, with its timeline. When the campaign is over, the page no longer reloads itself. Requests
// for other hosts or without the secret do not get a page.
func TestThePageFollowsTheCampaign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	says, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer says.Close()
	begin := campaignOf(t, dir, "start", "kleppmann-gc-pause", "--seeds", "2000000", "--out", "x", "--serve",
		"--patience", "1s")
	begin.Stderr = end
	if err := begin.Start(); err != nil {
		t.Fatal(err)
	}
	end.Close()
	defer kill(begin)
	page := aPage.FindString(waitFor(t, says, "the page of campaign"))
	text, r := get(t, page, "")
	if r.Header.Get("Refresh") == "" || !strings.Contains(text, "running") ||
		!strings.Contains(text, `http-equiv="Content-Security-Policy" content="default-src 'none'`) {
		t.Errorf("%v\n%s", r.Header, text)
	}
	worker := campaignOf(t, dir, "work", "--out", "x", "--workers", "2")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`href="(campaign-kleppmann-gc-pause-mutual-exclusion-[^"]*\.html)"`)
	until(t, "a finding on the page of the campaign", func() bool {
		text, _ = get(t, page, "")
		return link.MatchString(text)
	})
	for _, want := range []string{"mutual-exclusion", "holder outlived its lease (pause)", "first seed",
		"of worker time", "runs per second", "kleppmann-gc-pause: seeds"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	beside := strings.Replace(page, "campaign.html", link.FindStringSubmatch(text)[1], 1)
	if text, r := get(t, beside, ""); r.StatusCode != http.StatusOK || !strings.Contains(text, "<svg") ||
		!strings.Contains(text, "Two clients were inside at once") || r.Header.Get("Refresh") != "" {
		t.Errorf("%s: %s\n%.3000s", beside, r.Status, text)
	}
	noSecret := regexp.MustCompile(`/[A-Z0-9]{26}/`)
	for url, host := range map[string]string{noSecret.ReplaceAllString(page, "/"): "",
		noSecret.ReplaceAllString(beside, "/"): "", page: "rebound.example", page + "x": "", beside + "x": ""} {
		if _, r := get(t, url, host); r.StatusCode != http.StatusForbidden && r.StatusCode != http.StatusNotFound {
			t.Errorf("%s as %q: %s", url, host, r.Status)
		}
	}
	var now map[string]any
	if got := call(t, campaignOf(t, dir, "status", "--out", "x", "--json")); json.Unmarshal([]byte(got.out),
		&now) != nil ||
		now["state"] != "running" || now["campaign"] != "kleppmann-gc-pause" || now["command"] != "status" {
		t.Errorf("%s%s", got.out, got.problems)
	}
	// A campaign that was stopped reports what it has found. Its findings are shrunk, although not all seeds were run.
	if got := call(t, campaignOf(t, dir, "stop", "--out", "x")); got.code != 0 {
		t.Error(got.problems)
	}
	waitFor(t, says, "the campaign is over")
	if text, r := get(t, page, ""); r.Header.Get("Refresh") != "" || !strings.Contains(text, "finished") ||
		!strings.Contains(text, "stopped by a user") {
		t.Errorf("%v\n%s", r.Header, text)
	}
	worker.Wait()
	got := call(t, campaignOf(t, dir, "report", "--out", "x"))
	if !strings.Contains(got.problems, "was ended early: stopped by a user") || strings.Contains(got.problems,
		"not finished") || !strings.Contains(got.out, "of 2000000 seeds were run") {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.problems)
	}
	if files := filesIn(t, filepath.Join(dir, "x")); !strings.Contains(files["exploration.json"], `"seeds":2000000`) {
		t.Error(files["exploration.json"])
	}
}
