package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// children starts programs, several at once, and waits for them.
func children() {
	out, err := exec.Command("echo", "hello").CombinedOutput()
	fmt.Printf("%q %v\n", out, err)
	sh := exec.Command("sh", "-c", "cat; exit 7")
	sh.Stdin = strings.NewReader(strings.Repeat("x", 200_000))
	out, err = sh.Output()
	fmt.Println(len(out), err)
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	fmt.Println(exec.CommandContext(ctx, "sleep", "100").Run())
	var all sync.WaitGroup
	results := make([]string, 4)
	for i := range results {
		all.Go(func() {
			var b bytes.Buffer
			c := exec.Command("sh", "-c", fmt.Sprintf("sleep 0.0%d; echo %d; exit %d", i, i, i))
			c.Stdout = &b
			err := c.Run()
			results[i] = fmt.Sprint(b.String(), err)
		})
	}
	all.Wait()
	fmt.Printf("%q\n", results)
	own := exec.Command(os.Args[0], "signals")
	own.Stdout, own.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
	fmt.Println(own.Run())
	slow := exec.Command("sleep", "100")
	fmt.Println(slow.Start(), slow.Process.Signal(syscall.SIGTERM), slow.Wait(), slow.ProcessState.Exited())
}
