package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// output redirects its standard output, first to a pipe and then to a connection with an echo server. It then closes
// its standard error. By then, it has several threads.
func output() {
	fmt.Println("before")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { fmt.Fprint(os.Stderr, "x") })
	}
	all.Wait()
	own, err := syscall.Dup(1)
	r, w, _ := os.Pipe()
	fmt.Println(err, syscall.Dup3(int(w.Fd()), 1, 0), "into the pipe")
	b := make([]byte, 100)
	n, err := r.Read(b)
	fmt.Fprintf(os.Stderr, "%q %v\n", b[:n], err)
	c := dial()
	f, err := c.(interface{ File() (*os.File, error) }).File()
	fmt.Fprintln(os.Stderr, err, syscall.Dup2(int(f.Fd()), 1))
	fmt.Println("into the connection")
	line, err := bufio.NewReader(c).ReadString('\n')
	fmt.Fprintf(os.Stderr, "%q %v\n", line, err)
	fmt.Fprintln(os.Stderr, syscall.Close(2), syscall.Dup2(own, 1))
	_, err = syscall.Write(2, []byte("nowhere"))
	fmt.Println("again", err)
}
