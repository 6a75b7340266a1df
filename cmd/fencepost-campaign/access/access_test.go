package access_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/embedded"
)

// natsServer starts a NATS server like one that a user might run, and returns its address.
func natsServer(t *testing.T, o server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	n, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(n.Shutdown)
	return n.Addr().String()
}

func TestConnectionsThatCannotBe(t *testing.T) {
	t.Parallel()
	at := natsServer(t, server.Options{Authorization: "right"})
	for url, want := range map[string]string{
		"nats://127.0.0.1:1":     "no NATS server answers at nats://127.0.0.1:1",
		"nats://" + at:           "rejects the credentials",
		"nats://wrong@" + at:     "rejects the credentials",
		"nats://wrong:who@" + at: "rejects the credentials",
		"nats://right@" + at:     "does not have JetStream enabled",
	} {
		_, err := access.Server{URL: url}.Connect("test", nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v, want: %s", url, err, want)
		}
	}
	if _, err := (access.Server{URL: "nats://" + at, Creds: "/nowhere"}).Connect("test", nil); err == nil ||
		!strings.Contains(err.Error(), "--creds") {
		t.Error(err)
	}
}

// No part of a password in a URL is printed, no matter how the URL is written.
func TestNoPartOfAPasswordIsShown(t *testing.T) {
	t.Parallel()
	const bird = "kanarienvogel"
	for _, url := range []string{"nats://me:" + bird + "@h:1", "nats://" + bird + "@h:1",
		"nats://me:" + bird + "@x@h:1",
		"nats://u:x@" + bird + "@h", "nats://me:x," + bird + "@h:1", "nats://me:" + bird + ",x@h:1",
		"nats://u s:" + bird + "%zz@h", "nats://me:" + bird, bird + "@h:1", "nats://h:1,nats://" + bird + "@g:1",
		"nats://h/?token=" + bird, "nats://h/" + bird, "nats://h#" + bird, bird + "://h", "nats://:" + bird + "@h",
		"nats://me:" + bird + "#@h:1", "nats://me:" + bird + "/x@h:1", "nats://h:" + bird} {
		a := access.Server{URL: url}
		_, err := a.Connect("test", nil)
		if err == nil || strings.Contains(err.Error(), bird) || strings.Contains(a.Shown(), bird) {
			t.Errorf("%s is shown as %s, and its error is: %v", url, a.Shown(), err)
		}
	}
	many := access.Server{URL: "nats://me:secret@one:4222,tls://secret@two, nats://three:4222"}
	if got := many.Shown(); got != "nats://one:4222,tls://two,nats://three:4222" || !many.Secret() {
		t.Error(got)
	}
	if (access.Server{URL: "nats://one:4222"}).Secret() {
		t.Error("there is no secret in the URL")
	}
}

// heard starts a listener that sends an answer to every client. It returns the listener's address, and a function that
// returns everything that the clients have sent so far.
func heard(t *testing.T, at, answer string) (address string, all func() string) {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex
	var text strings.Builder
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.Write([]byte(answer))
				for b := make([]byte, 4096); ; {
					n, err := c.Read(b)
					mu.Lock()
					text.Write(b[:n])
					mu.Unlock()
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

// If another program is listening on the address of a campaign's server, clients do not send it any secrets and do not
// trust anything it says. The test tries a NATS server that does not require a token, a server that starts without TLS,
// another campaign's server, and a listener that says nothing.
func TestNobodyIsTakenForTheServer(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start(embedded.Options{Folder: filepath.Join(t.TempDir(), "nats")})
	if err != nil {
		t.Fatal(err)
	}
	mine := s.Access
	s.Close()
	other, err := embedded.Start(embedded.Options{Folder: filepath.Join(t.TempDir(), "nats")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	open := natsServer(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	plain, told := heard(t, "127.0.0.1:0", `INFO {"server_id":"x","version":"2.15.2","max_payload":1048576,`+
		`"tls_available":false}`+"\r\n")
	silent, toldToo := heard(t, "127.0.0.1:0", "")
	for name, at := range map[string]string{"a server that asks for nothing": open, "one that speaks plainly": plain,
		"that of another campaign": strings.TrimPrefix(other.Access.URL, "tls://"), "one that is silent": silent} {
		a := mine
		a.URL = "tls://" + at
		if nc, err := a.Connect("test", nil); err == nil || strings.Contains(err.Error(), a.Token) {
			t.Errorf("%s is taken for the server: %v, %v", name, nc, err)
		}
	}
	if text := told() + toldToo(); strings.Contains(text, mine.Token) || strings.Contains(text, "CONNECT") {
		t.Errorf("it is told %q", text)
	}
	if nc, err := other.Access.Connect("test", nil); err != nil { // with the right access, the connection succeeds
		t.Error(err)
	} else {
		nc.Close()
	}
}

// A server that is restarted in its folder keeps its address, token and certificate.
func TestAServerIsTheSameAgain(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "nats")
	for _, listen := range []string{"", "127.0.0.1:0", "0.0.0.0:0"} {
		s, err := embedded.Start(embedded.Options{Folder: folder, Listen: listen})
		if err != nil {
			t.Fatal(err)
		}
		before := s.Access
		if strings.Contains(before.URL, "0.0.0.0") || strings.Contains(before.URL, "[::]") {
			t.Errorf("nobody can connect to %s", before.URL)
		}
		s.Close()
		if s, err = embedded.Start(embedded.Options{Folder: folder}); err != nil {
			t.Fatal(err)
		}
		if s.Access.URL != before.URL || s.Access.Token != before.Token || s.Access.Certificate != before.Certificate {
			t.Errorf("it is at %s, and was at %s", s.Access.URL, before.URL)
		}
		if _, err := embedded.Start(embedded.Options{Folder: folder}); err == nil ||
			!strings.Contains(err.Error(), "already running in") || strings.Contains(err.Error(), before.Token) {
			t.Error(err)
		}
		if running, a, err := embedded.Running(folder); !running || err != nil || a.URL != before.URL {
			t.Error(running, err)
		}
		s.Close()
		if running, _, err := embedded.Running(folder); running || err != nil {
			t.Error(running, err)
		}
	}
}

// If a program has occupied a server's port in the meantime, the restarted server does not take the port away.
func TestATakenPortIsLeftToItsOwner(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "nats")
	s, err := embedded.Start(embedded.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	before := s.Access
	s.Close()
	_, told := heard(t, before.Host(), "")
	if s, err = embedded.Start(embedded.Options{Folder: folder}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if nc, err := s.Access.Connect("test", nil); err != nil || s.Access.URL == before.URL || told() != "" {
		t.Errorf("%s, %v, told %q", s.Access.URL, err, told())
	} else {
		nc.Close()
	}
	if _, err := embedded.Start(embedded.Options{Folder: filepath.Join(t.TempDir(), "nats"),
		Listen: before.Host()}); err == nil {
		t.Error("an address that was asked for is not given up")
	}
}

// Files that another user may have read or written are rejected, and so are files that a server would never have
// written.
func TestForeignStateIsRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(t *testing.T, folder, file string){
		"other users can access": func(t *testing.T, _, file string) { must(t, os.Chmod(file, 0o644)) },
		"chmod":                  func(t *testing.T, folder, _ string) { must(t, os.Chmod(folder, 0o755)) },
		"every user can write": func(t *testing.T, folder, _ string) {
			must(t, os.Chmod(filepath.Dir(folder), 0o777))
		},
		"is not a file": func(t *testing.T, folder, file string) {
			must(t, os.Rename(file, filepath.Join(folder, "elsewhere")))
			must(t, os.Symlink("elsewhere", file))
		},
		"is not a folder": func(t *testing.T, folder, _ string) {
			must(t, os.Rename(folder, folder+"-elsewhere"))
			must(t, os.Symlink(folder+"-elsewhere", folder))
		},
		"lacks the token": func(t *testing.T, _, file string) {
			edit(t, file, `"certificate"`, `"token": "short", "certificate"`)
		},
		"is not an address at which the server": func(t *testing.T, _, file string) {
			edit(t, file, "tls://127.0.0.1", "tls://0.0.0.0")
		},
		"somebody may have changed the file": func(t *testing.T, _, file string) { edit(t, file, "tls://", "nats://") },
		"cannot parse":                       func(t *testing.T, _, file string) { edit(t, file, "{", "{{") },
		"the certificate of the server": func(t *testing.T, _, file string) {
			edit(t, file, `"certificate"`, `"cert"`)
		},
		"belongs to another user": func(t *testing.T, _, file string) { give(t, file) },
		"refusing to use":         func(t *testing.T, folder, _ string) { give(t, folder) },
		"choose one of your own":  func(t *testing.T, folder, _ string) { give(t, filepath.Dir(folder)) },
		"the certificate of the": func(t *testing.T, folder, _ string) {
			must(t, os.Chmod(filepath.Join(folder, "key.pem"), 0o640))
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "night", "nats")
			s, err := embedded.Start(embedded.Options{Folder: folder})
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			change(t, folder, filepath.Join(folder, access.FileName))
			s, err = embedded.Start(embedded.Options{Folder: folder})
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a server starts on it: %v", err)
			}
			if want == "the certificate of the" { // only the server reads the key
				return
			}
			if _, _, err := embedded.Running(folder); err == nil || errors.Is(err, fs.ErrNotExist) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("it is believed: %v", err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, file, old, fresh string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	if !strings.Contains(string(text), old) {
		t.Fatalf("there is no %s in %s", old, text)
	}
	must(t, os.WriteFile(file, []byte(strings.Replace(string(text), old, fresh, 1)), 0o600))
}

// give gives a file or folder to another user.
func give(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	must(t, os.Chown(path, 65534, 65534))
}
