// Program performs the action that its first argument names, and prints the results. It prints no times.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	what := map[string]func(){"threads": threads, "pipe": pipe, "signals": signals, "files": files, "echo": echo,
		"refused": refused, "reset": reset, "end": end, "sleep": sleep, "clocks": clocks, "timerfd": timerfd,
		"inotify": inotify, "changes": changes, "rare": rare, "lacking": lacking,
		"output": output, "children": children,
		"spin": spin, "absolute": absolute, "options": options,
		"until": until, "writes": writes, "udp": udp, "forever": forever, "random": random, "opens": opens}[os.Args[1]]
	what()
}

// threads makes goroutines wait for each other, for mutexes and for timers.
func threads() {
	var mu sync.Mutex
	var all sync.WaitGroup
	sum := 0
	next := make(chan int)
	for i := range 8 {
		all.Go(func() {
			time.Sleep(time.Duration(8-i) * 3 * time.Millisecond)
			for range 100 {
				mu.Lock()
				sum++
				mu.Unlock()
			}
			next <- i
		})
	}
	n := 0
	for range 8 {
		n += <-next
	}
	all.Wait()
	select {
	case <-next:
	case <-time.After(5 * time.Millisecond):
		fmt.Println("timeout")
	}
	fmt.Println(sum, n)
}

// pipe writes more to a pipe than the pipe can hold.
func pipe() {
	r, w, err := os.Pipe()
	fmt.Println(err)
	go func() {
		for range 10 {
			w.Write(make([]byte, 50_000))
		}
		w.Close()
	}()
	n, err := io.Copy(io.Discard, r)
	fmt.Println(n, err)
	r, _, _ = os.Pipe()
	r.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	_, err = r.Read(make([]byte, 1))
	fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
}

func signals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	fmt.Println(syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	fmt.Println(<-c)
	fmt.Println(syscall.Kill(os.Getpid(), 0))
}

func files() {
	b, err := os.ReadFile(os.Args[0])
	fmt.Println(len(b) > 1000, err)
	_, err = os.Stat("/nowhere")
	fmt.Println(err)
	_, err = os.ReadFile("/nowhere")
	fmt.Println(err)
}

func dial() net.Conn {
	c, err := net.DialTimeout("tcp", os.Args[2], 10*time.Second)
	if err != nil {
		fmt.Println("dial", errors.Is(err, syscall.ECONNREFUSED))
		os.Exit(0)
	}
	return c
}

// echo sends data to an echo server, on several connections at once.
func echo() {
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			c := dial()
			defer c.Close()
			in := bufio.NewReader(c)
			for j := range 5 {
				fmt.Fprintf(c, "line %d %d\n", i, j)
				if line, err := in.ReadString('\n'); line != fmt.Sprintf("line %d %d\n", i, j) {
					fmt.Println(line, err)
				}
			}
			big := make([]byte, 1_000_000)
			go c.Write(big)
			if _, err := io.ReadFull(in, big); err != nil {
				fmt.Println(err)
			}
		})
	}
	all.Wait()
	c := dial()
	c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	fmt.Println(errors.Is(err, os.ErrDeadlineExceeded), c.RemoteAddr().String() == os.Args[2])
}

func refused() { dial() }

// reset and end read from a server that resets or closes the connection.
func reset() {
	c := dial()
	c.Write([]byte("reset\n"))
	b, err := io.ReadAll(c)
	fmt.Printf("%q %v\n", b, errors.Is(err, syscall.ECONNRESET))
	_, err = c.Write([]byte("x"))
	fmt.Println(errors.Is(err, syscall.EPIPE))
}

func end() {
	c := dial()
	c.Write([]byte("end\n"))
	b, err := io.ReadAll(c)
	fmt.Printf("%q %v\n", b, err)
}

func sleep() {
	d, _ := time.ParseDuration(os.Args[2])
	began := time.Now()
	time.Sleep(d)
	fmt.Println(time.Since(began).Round(time.Second))
}

// clocks prints both clocks each second.
func clocks() {
	for range 5 {
		var wall, mono syscall.Timespec
		gettime(0, &wall)
		gettime(1, &mono)
		fmt.Println(wall.Sec, mono.Sec)
		time.Sleep(time.Second)
	}
}

func inotify() { syscall.RawSyscall(syscall.SYS_INOTIFY_INIT1, 0, 0, 0) }

func spin() {
	for {
	}
}

func writes() {
	fmt.Println(os.WriteFile("/tmp/written-by-a-program", nil, 0o600))
	fmt.Println(os.WriteFile(os.Args[2]+"/file", []byte("text"), 0o600))
	b, err := os.ReadFile(os.Args[2] + "/file")
	fmt.Println(string(b), err)
}

func udp() {
	_, err := net.Dial("udp", "10.0.0.1:53")
	fmt.Println(errors.Is(err, syscall.EACCES))
}

func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func random() { fmt.Println(rand.Uint64(), os.Getpid(), os.Getppid()) }

func opens() {
	_, err := os.Open(os.Args[2])
	fmt.Println(err)
}
