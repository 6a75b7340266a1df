package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
)

// No part of a server's password or token is printed, no matter where the user specifies it, even if the rest of the
// input is invalid. On the command line, which other users can read, passwords and tokens are rejected.
func TestSecretsAreShownNowhere(t *testing.T) {
	t.Parallel()
	const bird = "kanarienvogel"
	file, _ := served(t)
	for name, test := range map[string]struct{ env, flag, want string }{
		"on the command line":    {flag: "nats://me:" + bird + "@127.0.0.1:1", want: "--nats must not contain"},
		"there, as a token":      {flag: "nats://" + bird + "@127.0.0.1:1", want: "--nats must not contain"},
		"there, not escaped":     {flag: "nats://us er:" + bird + "%zz@h", want: "--nats must not contain"},
		"there, with an @":       {flag: "nats://me:x@" + bird + "@h", want: "--nats must not contain"},
		"there, without a host":  {flag: "nats://:" + bird, want: "cannot parse the URL"},
		"in the variable":        {env: "nats://me:" + bird + "@127.0.0.1:1", want: "no NATS server answers"},
		"in it, not escaped":     {env: "nats://us er:" + bird + "%zz@h", want: "cannot parse the URL"},
		"in it, with an @ in it": {env: "nats://me:x@" + bird + "@127.0.0.1:1", want: "no NATS server answers"},
		"in it, with a comma":    {env: "nats://me:123," + bird + "@h", want: "cannot parse the URL"},
	} {
		for _, of := range []string{"work", "status", "report", "stop", "start"} {
			args := []string{of}
			if of == "start" {
				args = append(args, "kleppmann-gc-pause")
			}
			if test.flag != "" {
				args = append(args, "--nats", test.flag)
			}
			c := campaignOf(t, t.TempDir(), args...)
			c.Env = append(c.Env, natsURL+"="+test.env)
			got := call(t, c)
			if got.code != exitBadInput || !strings.Contains(got.problems, test.want) ||
				strings.Contains(got.out+got.problems, bird) {
				t.Errorf("%s, %s: exit %d: %s%s\nwant: %s", name, of, got.code, got.out, got.problems, test.want)
			}
		}
	}
	help := campaignOf(t, t.TempDir(), "work", "-h")
	help.Env = append(help.Env, natsURL+"=nats://"+bird+"@h")
	if got := call(t, help); got.code != 0 || strings.Contains(got.out, bird) {
		t.Error(got.out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "access.json")
	if err := os.WriteFile(damaged, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	var a struct{ Token string }
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if got := call(t, campaignOf(t, t.TempDir(), "work", "--access", damaged)); got.code != exitBadInput ||
		strings.Contains(got.problems, a.Token) || !strings.Contains(got.problems, "cannot parse ") {
		t.Error(got.problems)
	}
}

// A worker executes a test binary only if its user has built or allowed it. It does not matter who put the binary on
// the server.
func TestAForeignBinaryIsNotExecuted(t *testing.T) {
	t.Parallel()
	file, nc := served(t)
	begin := campaignOf(t, t.TempDir(), "start", "kleppmann-gc-pause", "--access", file, "--name", "begun")
	if err := begin.Start(); err != nil {
		t.Fatal(err)
	}
	o := orderOf(t, nc)
	kill(begin)
	mark := filepath.Join(t.TempDir(), "executed")
	binary := []byte("#!/bin/sh\ntouch " + mark + "\n")
	o.Entries[0].Kind, o.Entries[0].System = "package", system
	o.Entries[0].Options = []byte(`{"from":1,"seeds":1,"test":"TestLock"}`)
	what, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queue.Create(t.Context(), nc, "foreign", what, map[string][]byte{o.Entries[0].File: binary},
		time.Second); err != nil {
		t.Fatal(err)
	}
	for _, of := range [][]string{{"work", "--workers", "1"}, {"report"}, {"status", "--serve"}} {
		args := append(of, "--access", file, "--name", "foreign")
		got := call(t, campaignOf(t, t.TempDir(), args...))
		if _, err := os.Stat(mark); err == nil || got.code != exitBadInput ||
			!strings.Contains(got.problems, "allow it with --binary "+sumOf(binary)) {
			t.Errorf("%v: %v, exit %d: %s", args, err, got.code, got.problems)
		}
	}
	got := call(t, campaignOf(t, t.TempDir(), "report", "--access", file, "--name", "foreign", "--binary",
		sumOf(binary)))
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("one that is allowed is not executed: %v: %s", err, got.problems)
	}
}
