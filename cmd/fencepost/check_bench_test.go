//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// BenchmarkCheckMillion checks a million events, as JSON lines and as EDN, recorded on one machine and on two with
// clocks that may be off. In most cases, 50 clients take turns at 10 locks; in the others, the number of clients
// varies, up to a hundred thousand. It reports the process's peak memory use:
//
//	go test ./cmd/fencepost -run ^$ -bench CheckMillion/json -benchtime 1x
func BenchmarkCheckMillion(b *testing.B) {
	const events = 1_000_000
	dir := b.TempDir()
	clients := 50
	write := func(name string, header string, line func(at, client, lock, round int, f, kind string) string,
		ours func(client int) bool) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		out := bufio.NewWriter(f)
		fmt.Fprint(out, header)
		for i := range events / 4 {
			client, lock, at := i%clients, i%10, i*1_000_000
			if ours(client) {
				fmt.Fprint(out, line(at, client, lock, i, "acquire", "invoke"),
					line(at+200_000, client, lock, i, "acquire", "ok"),
					line(at+600_000, client, lock, i, "release", "invoke"),
					line(at+700_000, client, lock, i, "release", "ok"))
			}
		}
		if err := errors.Join(out.Flush(), f.Close()); err != nil {
			b.Fatal(err)
		}
		return path
	}
	inJSON := func(at, client, lock, round int, f, kind string) string {
		lease := ""
		if f == "acquire" && kind == "ok" {
			lease = fmt.Sprintf(`,"token":%d,"since":%d,"granted":%d,"until":%d`, round+1, at-200_000, at, at+8_000_000)
		}
		attempt := ""
		if f != "acquire" || kind == "ok" {
			attempt = fmt.Sprintf(`,"attempt":"client-%d/%d"`, client, round)
		}
		return fmt.Sprintf(`{"time":%d,"process":"client-%d","type":%q,"f":%q,"lock":"lock-%d"%s%s}`+"\n", at, client,
			kind, f, lock, attempt, lease)
	}
	inEDN := func(at, client, lock, _ int, f, kind string) string {
		return fmt.Sprintf("{:type :%s, :f :%s, :value [%d nil], :process %d, :time %d}\n", kind, f, lock, client, at)
	}
	all := func(int) bool { return true }
	of := func(n int) func() []string {
		return func() []string {
			clients = n
			return []string{write("h.jsonl", "", inJSON, all)}
		}
	}
	const header = `{"header":{"start":1,"clock_error":50000}}` + "\n"
	for _, c := range []struct {
		name  string
		files func() []string
	}{
		{"json", func() []string { return []string{write("h.jsonl", "", inJSON, all)} }},
		{"edn", func() []string { return []string{write("h.edn", "", inEDN, all)} }},
		{"machines", func() []string {
			return []string{write("1.jsonl", header, inJSON, func(client int) bool { return client%2 == 0 }),
				write("2.jsonl", header, inJSON, func(client int) bool { return client%2 == 1 })}
		}},
		{"clients=10", of(10)}, {"clients=1000", of(1000)}, {"clients=100000", of(100_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			args := append([]string{"check"}, c.files()...)
			for b.Loop() {
				var out, problems bytes.Buffer
				if code := run(args, &out, &problems); code != exitExpected {
					b.Fatalf("exit %d: %s%s", code, out.String(), problems.String())
				}
			}
			var used syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(used.Maxrss)/1024, "MB-peak")
		})
	}
}
