package realtime

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer is a kernel timer (timerfd). Go's own timers round to whole milliseconds when the process is otherwise idle,
// but some links have delays below a millisecond.
type timer struct {
	file *os.File
	fd   int
	rang chan struct{} // contains one element if the timer has expired
}

func newTimer() (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	t := &timer{os.NewFile(uintptr(fd), "timerfd"), fd, make(chan struct{}, 1)}
	go t.listen()
	return t, nil
}

// listen sends a value to t.rang whenever the timer expires, until the timer is closed.
func (t *timer) listen() {
	var times [8]byte
	for {
		if _, err := t.file.Read(times[:]); err != nil {
			return
		}
		select {
		case t.rang <- struct{}{}:
		default:
		}
	}
}

func (t *timer) close() { t.file.Close() }

// set makes the timer expire after d.
func (t *timer) set(d time.Duration) {
	ring := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(d), 1))}
	if err := unix.TimerfdSettime(t.fd, 0, &ring, nil); err != nil {
		panic(err) // cannot happen: the time is positive
	}
}
