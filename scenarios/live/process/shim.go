package process

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

//go:embed preload/shim.c
var shimSource []byte

// ErrNoCompiler reports that the shim cannot be compiled, because gcc is not installed.
var ErrNoCompiler = errors.New(
	"gcc is missing: it compiles the library through which this fault strikes a real server. " +
		"Install it (Debian: apt install gcc libc6-dev)")

// CanShim returns nil if the shim can be compiled on this machine. Otherwise, it returns [ErrNoCompiler].
func CanShim() error {
	if _, err := exec.LookPath("gcc"); err != nil {
		return ErrNoCompiler
	}
	return nil
}

// Compile compiles the shim library into a folder and returns its path.
func Compile(folder string) (string, error) {
	source, library := filepath.Join(folder, "shim.c"), filepath.Join(folder, "shim.so")
	if err := os.WriteFile(source, shimSource, 0o600); err != nil {
		return "", err
	}
	said, err := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-o", library, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gcc cannot compile the library that is loaded into real servers: %w\n%s", err, said)
	}
	return library, nil
}

// Byte offsets of the fields in the library's control file. Each field is eight bytes long.
const (
	fieldVersion = iota
	fieldBase
	fieldMono
	fieldWall
	fieldPPM
	fieldSlow
	fieldInode
	fieldSynced
	fields
)

// Shim controls the shim library in one process. A nil Shim means that no library is loaded.
type Shim struct {
	library, path string
	file          *os.File
	origin        *Origin

	mu      sync.Mutex
	version int64
	segment segment
	slow    time.Duration
}

// segment is a period in which a clock runs at a constant rate. base is the machine's monotonic time at its start, and
// mono is what the clock shows then, both in ns. ppm is the deviation of the rate.
type segment struct{ base, mono, ppm int64 }

// valueAt returns the clock's value at the given time on the machine's monotonic clock.
func (s segment) valueAt(now int64) int64 {
	past := now - s.base
	return s.mono + past + past/1_000_000*s.ppm + past%1_000_000*s.ppm/1_000_000
}

// NewShim prepares the shim, a library that changes clocks, for a daemon's processes. They all use the same control
// file, because a machine's clock keeps running when a process ends.
func NewShim(library, folder string, o *Origin) (*Shim, error) {
	s := &Shim{library: library, path: filepath.Join(folder, "shim"), origin: o}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	s.file = f
	return s, f.Truncate(fields * 8)
}

// environment returns the environment variables that load the library.
func (s *Shim) environment() []string {
	if s == nil {
		return nil
	}
	return []string{"LD_PRELOAD=" + s.library, "FENCEPOST_SHIM=" + s.path}
}

func (s *Shim) write(field int, values ...int64) error {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, uint64(v))
	}
	_, err := s.file.WriteAt(b, int64(field)*8)
	return err
}

// farOff is how far a process's wall clock may be from that of its simulated server, if the library that changes clocks
// has not been loaded into the process.
const farOff = time.Second

// SetClocks sets the process's clocks to those of its simulated server.
func (s *Shim) SetClocks(h sim.Host) error {
	if s == nil {
		if off := time.Duration(h.Wall() - time.Now().UnixNano()); off.Abs() > farOff {
			return fmt.Errorf("a change of %v is impossible, "+
				"because the server was started without the library that changes clocks: "+
				"list the server's clock faults before the servers start", off.Round(time.Millisecond))
		}
		return nil
	}
	var ppm int64
	if r, ok := h.(sim.Rated); ok {
		ppm = r.Rate()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.origin.instant(h)
	s.segment = segment{now, s.segment.valueAt(now), ppm}
	s.version += 2
	return errors.Join(s.write(fieldVersion, s.version-1),
		s.write(fieldBase, now, s.segment.mono, h.Wall(), ppm), s.write(fieldVersion, s.version))
}

// begin prepares the control file for a new process. At first, no file counts as synced.
func (s *Shim) begin() error {
	if s == nil {
		return nil
	}
	return s.write(fieldInode, 0, 0)
}

// SlowFsync makes each fsync take longer by the given duration.
func (s *Shim) SlowFsync(by time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow += by
	return s.write(fieldSlow, int64(s.slow))
}

// synced returns the inode of the file that was synced last, and the number of its bytes that are on disk.
func (s *Shim) synced() (inode uint64, bytes int64, err error) {
	b := make([]byte, 16)
	if _, err := s.file.ReadAt(b, fieldInode*8); err != nil {
		return 0, 0, err
	}
	return binary.NativeEndian.Uint64(b), int64(binary.NativeEndian.Uint64(b[8:])), nil
}

// Origin is an estimate of the time on the machine's monotonic clock at which the world started. The world's time is
// never ahead of the machine's, so the best estimate is the smallest difference between the two that has been observed
// so far.
type Origin struct {
	mu    sync.Mutex
	known bool
	at    int64
}

// instant converts the world's current time to a time on the machine's monotonic clock, in ns.
func (o *Origin) instant(h sim.Host) int64 {
	now, world := Monotonic(), int64(h.Due(0))
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known || now-world < o.at {
		o.known, o.at = true, now-world
	}
	return o.at + world
}
