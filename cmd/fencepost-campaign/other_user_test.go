//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// attacker is another user of this machine.
type attacker struct {
	t   testing.TB
	as  *syscall.Credential
	dir string // a folder that belongs to the attacker
}

// newAttacker returns an attacker who is the user "nobody". It skips the test unless root is running it.
func newAttacker(t testing.TB) *attacker {
	t.Helper()
	nobody, err := user.Lookup("nobody")
	if err == nil && os.Geteuid() != 0 {
		err = errors.New("this test is another user, too, for which one must be root")
	}
	if err != nil {
		testkit.Lacks(t, err)
	}
	testkit.Needs(t, "python3", "flock")
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	x := &attacker{t, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, public(t, 0o755)}
	if err := os.Chown(x.dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return x
}

// public returns a folder that every user may enter.
func public(t testing.TB, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fencepost-public-")
	if err == nil {
		err = os.Chmod(dir, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// call returns a command that runs as the attacker.
func (x *attacker) call(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.Env = x.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + x.dir, "TMPDIR=" + x.dir}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: x.as}
	return c
}

// gets runs a shell script as the attacker, and returns what the script prints. It ignores errors, because the script
// is expected to fail.
func (x *attacker) gets(script string, args ...string) string {
	text, _ := x.call("/bin/sh", append([]string{"-c", script, "sh"}, args...)...).CombinedOutput()
	return string(text)
}

// These programs let the attacker use a port. The first sends a string over TLS without checking the server's
// certificate. The second makes an HTTP request. The third occupies a port and prints what it receives.
const (
	speaks = `python3 -c '
import socket, ssl, sys
c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
s = c.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
s.settimeout(5); s.sendall(sys.argv[2].encode().decode("unicode_escape").encode())
try:
    while (got := s.recv(4096)): print(got)
except OSError as e: print(e)' "$@"`
	asks = `python3 -c '
import sys, urllib.request
try: print(urllib.request.urlopen(sys.argv[1]).read()[:80])
except Exception as e: print(e)' "$@"`
	listens = `
import socket, sys
l = socket.socket(); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
l.bind(("127.0.0.1", int(sys.argv[1]))); l.listen(); print("listening", flush=True)
while True:
    c, _ = l.accept(); c.settimeout(1)
    try:
        while (got := c.recv(4096)): print("was sent", got, flush=True)
    except OSError: pass
    c.close()`
)

// attack is something that another user tries while a campaign is running.
type attack struct {
	name, script string
	args         []string
	fails        string // the error that the attacker must get
}

// TestAnotherUserLearnsNothingChangesNothingAndRunsNothing checks that another user of the same machine cannot read a
// campaign's secrets, change the campaign, or make it run a program. That user attacks the campaign while it is
// running, after its server has stopped, and with files prepared in places where everybody may write. The log shows
// what each attack prints.
func TestAnotherUserLearnsNothingChangesNothingAndRunsNothing(t *testing.T) {
	t.Parallel()
	x, dir := newAttacker(t), public(t, 0o755)
	k := &killed{t: t, dir: dir, workers: make([]*exec.Cmd, 1), start: []string{"start", "kleppmann-gc-pause",
		"--seeds", "3000000", "--out", "x", "--patience", "1s", "--name", "killed", "--serve=127.0.0.1:0"}}
	k.serve()
	line := waitFor(t, k.says, "the page of campaign")
	page, err := url.Parse(line[strings.Index(line, "http"):])
	if err != nil {
		t.Fatal(err)
	}
	k.work(0)
	defer func() { kill(k.workers[0]) }()
	defer func() { kill(k.server) }()
	a, err := access.ReadFile(k.access())
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Dir(k.access())
	before := filesIn(t, store)
	_, port, _ := net.SplitHostPort(a.Host())
	pids := []string{fmt.Sprint(k.server.Process.Pid), fmt.Sprint(k.workers[0].Process.Pid)}
	const forged = `PUB fencepost.killed.parts.kleppmann-gc-pause=3a=20seeds.0.1 1\r\nx\r\nPING\r\n`
	for _, one := range []attack{
		{"reads the token and the key", `cat "$1"/access.json "$1"/key.pem`, []string{store}, "Permission denied"},
		{"reads the store", `ls -R "$1"`, []string{store}, "Permission denied"},
		{"reads command lines", `for p; do tr '\0' ' ' < /proc/$p/cmdline; done`, pids, "work --one"},
		{"reads environments", `for p; do cat /proc/$p/environ; done`, pids, "Permission denied"},
		{"reads open files and memory", `for p; do ls /proc/$p/fd; head -c 1 /proc/$p/mem; done`, pids,
			"Permission denied"},
		{"ends the processes", `kill -9 $*`, pids, "not permitted"},
		{"replaces the address", `echo x > "$1"/access.json`, []string{store}, "Permission denied"},
		{"replaces the folder of the server", `mv "$1" "$1".old`, []string{store}, "Permission denied"},
		{"replaces the folder of the campaign", `mv "$1" "$1".old`, []string{filepath.Join(dir, "x")},
			"Permission denied"},
		{"puts a link into the report", `ln -s /etc/passwd "$1"/verdict.json`, []string{filepath.Join(dir, "x")},
			"Permission denied"},
		{"holds the lock", `flock -n "$1"/lock echo held`, []string{store}, "Permission denied"},
		{"enters without a token", speaks, []string{port, `CONNECT {}\r\nPING\r\n`}, "Authorization Violation"},
		{"guesses a token", speaks, []string{port, `CONNECT {"auth_token":"` + strings.Repeat("A", 26) + `"}\r\nPING\r\n`},
			"Authorization Violation"},
		{"sends a forged part", speaks, []string{port, forged}, "Authorization Violation"},
		{"says that the disk is full", speaks, []string{port, `Filestore [x] Critical write error: y\r\n`},
			"Authorization Violation"},
		{"opens the page without its secret", asks, []string{"http://" + page.Host + mainPage}, "404"},
	} {
		x.tries(one, a.Token, page.Path, "PRIVATE KEY")
	}
	if after := filesIn(t, store); after[access.FileName] != before[access.FileName] ||
		after["key.pem"] != before["key.pem"] {
		t.Error("the access to the server was changed")
	}
	if got := call(t, campaignOf(t, dir, "status", "--out", "x")); strings.Contains(got.out, "not interpreted") ||
		strings.Contains(got.out, "cannot store") {
		t.Errorf("he has changed the campaign:\n%s", got.out)
	}
	x.takesThePort(k, port, a.Token)
	x.preparesFolders(t)
}

// tries performs an attack. The attack must fail with the error that it specifies, without printing any of the secrets.
func (x *attacker) tries(one attack, secrets ...string) {
	x.t.Helper()
	got := x.gets(one.script, one.args...)
	x.t.Logf("%s: %q", one.name, got[max(0, len(got)-150):])
	if !strings.Contains(got, one.fails) {
		x.t.Errorf("%s: %s\nwant %s", one.name, got, one.fails)
	}
	for _, secret := range secrets {
		if secret != "" && strings.Contains(got, secret) {
			x.t.Errorf("%s: he has got %s", one.name, secret)
		}
	}
}

// TestAnotherUserDoesNotPlay checks that another user of the same machine cannot open the "fencepost play" page or
// learn its secret address, even while a browser is opening the page.
func TestAnotherUserDoesNotPlay(t *testing.T) {
	t.Parallel()
	x := newAttacker(t)
	opened := filepath.Join(t.TempDir(), "opened")
	if err := syscall.Mkfifo(opened, 0o600); err != nil {
		t.Fatal(err)
	}
	browser := testkit.Script(t, "xdg-open", fmt.Sprintf(`echo "$1" > '%[1]s'; read end < '%[1]s'`, opened))
	c := program(t, t.TempDir(), "fencepost", "play", "--open")
	c.Env = append(c.Env, "PATH="+filepath.Dir(browser)+":"+os.Getenv("PATH"))
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer kill(c)
	page, err := url.Parse(waitFor(t, out, "http"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(opened)
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Trim(page.Path, "/")
	for _, one := range []attack{
		{"reads all command lines", `cat /proc/[0-9]*/cmdline | tr '\0' ' '`, nil, "play --open"},
		{"reads the file that is opened", `cat "$1"`, []string{strings.TrimSpace(string(file))}, "Permission denied"},
		{"opens the page without its secret", asks, []string{"http://" + page.Host + "/"}, "404"},
	} {
		x.tries(one, secret)
	}
	if err := os.WriteFile(opened, []byte("end\n"), 0); err != nil {
		t.Error(err)
	}
}

// takesThePort makes the attacker listen on the port of a server that has been killed. Neither a worker that is waiting
// for that server nor a new worker or report may send the attacker any secrets.
func (x *attacker) takesThePort(k *killed, port, token string) {
	x.t.Helper()
	kill(k.server)
	c := x.call("/bin/sh", "-c", `exec python3 -c "$0" "$1"`, listens, port)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		x.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "was sent") { // the worker that is waiting for the server
	}
	first := lines.Text()
	if got := call(x.t, campaignOf(x.t, k.dir, "work", "--out", "x")); got.code != exitBadInput ||
		!strings.Contains(got.problems, "the server of the campaign is not running") {
		x.t.Errorf("work: exit %d: %s", got.code, got.problems)
	}
	if got := call(x.t, campaignOf(x.t, k.dir, "report", "--out", "x")); !strings.Contains(got.problems,
		"the campaign is not finished") || strings.Contains(got.problems, "is not the server") {
		x.t.Errorf("report: exit %d: %s", got.code, got.problems)
	}
	c.Process.Kill()
	rest, _ := io.ReadAll(out)
	c.Wait()
	sent := first + string(rest)
	x.t.Logf("listens at the server's former address: %.100q", sent)
	if strings.Contains(sent, token) || strings.Contains(sent, "CONNECT") {
		x.t.Errorf("he was sent %s", sent)
	}
}

// preparesFolders creates folders, links and files in a place where everybody may write. A user who then names one of
// them by mistake must get an error.
func (x *attacker) preparesFolders(t *testing.T) {
	t.Helper()
	shared, own := public(t, 0o777|os.ModeSticky), t.TempDir()
	secret := filepath.Join(own, "secret")
	if err := os.WriteFile(secret, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.gets(`cd "$1"; umask 0
mkdir -p pre/nats his report linked
echo 'nats://0.0.0.0:45555' > pre/nats/url
echo '{"url":"tls://127.0.0.1:4","token":"AAAAAAAAAAAAAAAAAAAAAAAAAA","certificate":"x"}' | tee pre/nats/access.json > access.json
chmod 600 access.json; touch pre/nats/lock
ln -s "$2" report/verdict.json; ln -s "$2" report/history.jsonl; ln -s / linked/nats; ln "$2" report/plan.txt`, shared, secret)
	in := func(name string) string { return filepath.Join(shared, name) }
	for _, one := range []struct {
		name string
		args []string
		says string
	}{
		{"has prepared the folder of a server", []string{"campaign", "start", "kleppmann-gc-pause", "--out", in("pre")},
			"belongs to another user"},
		{"owns the folder of the campaign", []string{"campaign", "start", "kleppmann-gc-pause", "--out", in("his")},
			"belongs to another user"},
		{"has a link in the place of the server's folder", []string{"campaign", "start", "kleppmann-gc-pause", "--out",
			in("linked")}, "is not a folder"},
		{"has prepared an access file", []string{"campaign", "work", "--access", in("access.json")},
			"belongs to another user"},
		{"has links and hard links in the place of results", []string{"run", "kleppmann-gc-pause", "--out",
			in("report")}, "remove it, or name another"},
	} {
		got := call(t, program(t, own, "fencepost", one.args...))
		t.Logf("%s: %.200q", one.name, got.problems)
		if got.code != exitBadInput || !strings.Contains(got.problems, one.says) {
			t.Errorf("%s: exit %d: %s\nwant %s", one.name, got.code, got.problems, one.says)
		}
	}
	if text, err := os.ReadFile(secret); string(text) != "mine" || err != nil {
		t.Errorf("the file behind his links was changed: %q, %v", text, err)
	}
}
