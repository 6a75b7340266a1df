//go:build linux

package main

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPasswordsAreShownNowhere: wherever a password of the user's servers may have come to stand, also where it must
// not, no part of it is in what a call prints, in a file that it leaves, in its own page, or in what a client finds and
// prints of the processes of the machine and its own environment.
func TestPasswordsAreShownNowhere(t *testing.T) {
	const canary = "kanarienvogel/7,#a@b"
	here := usersRedis(t, "requirepass \""+canary+"\"")
	secrets := t.TempDir()
	good := "redis://:" + url.QueryEscape(canary) + "@" + here
	hold := func(addresses string) string {
		t.Helper()
		t.Setenv("FENCEPOST_TEST_ADDRESSES", addresses)
		return "env:FENCEPOST_TEST_ADDRESSES"
	}
	keep := func(name, addresses string) string {
		t.Helper()
		path := filepath.Join(secrets, name)
		if err := os.WriteFile(path, []byte(addresses), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	everything := []string{"--html", "page.html", "--junit", "junit.xml", "--metrics", "metrics.txt"}
	const shows = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -a fencepost | tail -c 1000; env | grep FENCEPOST"
	for name, test := range map[string]struct {
		servers func() string
		more    []string
		code    int
	}{
		"a variable":               {func() string { return hold(good) }, everything, exitExpected},
		"a variable, as JSON":      {func() string { return hold(good) }, append([]string{"--json"}, everything...), exitExpected},
		"a file":                   {func() string { return keep("good", good+"\n") }, everything, exitExpected},
		"a client that shows all":  {func() string { return hold(good) }, []string{"--client", shows + "; exit 1"}, exitBadInput},
		"a URL of the client's":    {func() string { return "simulated" }, []string{"--client", "echo redis://u:" + "kanarienvogel@h; exit 1"}, exitBadInput},
		"a user too":               {func() string { return hold("redis://kanarienvogel:" + url.QueryEscape(canary) + "@" + here) }, nil, exitBadInput},
		"a wrong one":              {func() string { return hold("redis://:kanarienvogel@" + here) }, nil, exitBadInput},
		"not escaped":              {func() string { return hold("redis://:" + canary + "@" + here) }, nil, exitBadInput},
		"in a query":               {func() string { return hold("redis://" + here + "?password=kanarienvogel") }, nil, exitBadInput},
		"in a fragment":            {func() string { return hold("redis://" + here + "#kanarienvogel") }, nil, exitBadInput},
		"as a database":            {func() string { return hold("redis://" + here + "/kanarienvogel") }, nil, exitBadInput},
		"as a port":                {func() string { return hold("redis://:kanarienvogel") }, nil, exitBadInput},
		"as a scheme":              {func() string { return hold("kanarienvogel://" + here) }, nil, exitBadInput},
		"a server that is off":     {func() string { return hold("redis://:kanarienvogel@127.0.0.1:1") }, nil, exitBadInput},
		"too many":                 {func() string { return hold(good + " " + good) }, nil, exitBadInput},
		"in a file, not escaped":   {func() string { return keep("bad", "redis://:"+canary+"@"+here) }, nil, exitBadInput},
		"on the command line":      {func() string { return good }, everything, exitBadInput},
		"there, not escaped":       {func() string { return "redis://:" + canary + "@" + here }, nil, exitBadInput},
		"there, as a user":         {func() string { return "kanarienvogel@" + here }, nil, exitBadInput},
		"there, in a query":        {func() string { return "redis://" + here + "?kanarienvogel" }, nil, exitBadInput},
		"there, without a host":    {func() string { return "redis://:kanarienvogel" }, nil, exitBadInput},
		"there, as a word":         {func() string { return "kanarienvogel" }, nil, exitBadInput},
		"in an option that is not": {func() string { return "simulated" }, []string{"--password=kanarienvogel"}, exitBadInput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("quick.yaml", []byte("name: quick\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: "+
				"500ms}\nwork: {hold: 5ms}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, problems bytes.Buffer
			code := run(append([]string{"live", "quick.yaml", "--servers", test.servers()}, test.more...), &out, &problems)
			if code != test.code {
				t.Errorf("exit %d, want %d\n%s%s", code, test.code, out.String(), problems.String())
			}
			if all := problems.String(); strings.Contains(name, "shows all") && (!strings.Contains(all, "FENCEPOST_CLIENT=") ||
				strings.Contains(all, "FENCEPOST_TEST_ADDRESSES=")) {
				t.Errorf("the client has shown %s", all)
			}
			shown := map[string][]byte{"stdout": out.Bytes(), "stderr": problems.Bytes()}
			err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					shown[path], err = os.ReadFile(path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if least := 9; code == exitExpected && len(shown) < least {
				t.Errorf("%d places are searched, and should be %d", len(shown), least)
			}
			for place, text := range shown {
				for _, part := range []string{"kanarien", "vogel", url.QueryEscape(canary)} {
					if at := bytes.Index(text, []byte(part)); at >= 0 {
						t.Errorf("%s shows it: %q", place, text[max(at-60, 0):min(at+60, len(text))])
					}
				}
			}
		})
	}
}
