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

// ErrNoCompiler reports that the library cannot be compiled.
var ErrNoCompiler = errors.New("there is no gcc, with which the library is made that does this to a real server " +
	"(Debian: apt install gcc libc6-dev)")

// CanShim says why the library cannot be made on this machine: [ErrNoCompiler], or nil.
func CanShim() error {
	if _, err := exec.LookPath("gcc"); err != nil {
		return ErrNoCompiler
	}
	return nil
}

// Compile compiles the library in a folder and returns its path.
func Compile(folder string) (string, error) {
	source, library := filepath.Join(folder, "shim.c"), filepath.Join(folder, "shim.so")
	if err := os.WriteFile(source, shimSource, 0o600); err != nil {
		return "", err
	}
	said, err := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-o", library, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gcc cannot make the library that is loaded into real servers: %w\n%s", err, said)
	}
	return library, nil
}

// The fields of the file that controls the library, eight bytes each.
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

// Shim is the library in one process, as seen from here. A nil Shim is none.
type Shim struct {
	library, path string
	file          *os.File
	origin        *Origin

	mu      sync.Mutex
	version int64
	segment segment
	slow    time.Duration
}

// segment is a stretch of time in which a clock runs at one rate.
type segment struct{ base, mono, ppm int64 }

// at is the value of the clock when the machine's monotonic clock shows now.
func (s segment) at(now int64) int64 {
	past := now - s.base
	return s.mono + past + past/1_000_000*s.ppm + past%1_000_000*s.ppm/1_000_000
}

// NewShim prepares the library for a process. The file outlives the process, as a machine's clock does.
func NewShim(library, folder string, o *Origin) (*Shim, error) {
	s := &Shim{library: library, path: filepath.Join(folder, "shim"), origin: o}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	s.file = f
	return s, f.Truncate(fields * 8)
}

// environment is the environment that loads the library.
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

// farOff is the difference between the wall clock of a process and that of its server that is refused where nothing can
// move the latter.
const farOff = time.Second

// SetClocks sets the clocks of the process to its simulated ones.
func (s *Shim) SetClocks(h sim.Host) error {
	if s == nil {
		if off := time.Duration(h.Wall() - time.Now().UnixNano()); off.Abs() > farOff {
			return fmt.Errorf("they are to be %v off the machine's, and nothing is there to move them: what is to "+
				"happen to them must be said before the servers start", off.Round(time.Millisecond))
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
	s.segment = segment{now, s.segment.at(now), ppm}
	s.version += 2
	return errors.Join(s.write(fieldVersion, s.version-1),
		s.write(fieldBase, now, s.segment.mono, h.Wall(), ppm), s.write(fieldVersion, s.version))
}

// begin starts a life, in which nothing has been synced yet.
func (s *Shim) begin() error {
	if s == nil {
		return nil
	}
	return s.write(fieldInode, 0, 0)
}

// SlowFsync makes each fsync take longer by the given time.
func (s *Shim) SlowFsync(by time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow += by
	return s.write(fieldSlow, int64(s.slow))
}

// synced is the file that was last synced, and how many bytes of it are on disk.
func (s *Shim) synced() (inode uint64, bytes int64, err error) {
	b := make([]byte, 16)
	if _, err := s.file.ReadAt(b, fieldInode*8); err != nil {
		return 0, 0, err
	}
	return binary.NativeEndian.Uint64(b), int64(binary.NativeEndian.Uint64(b[8:])), nil
}

// Origin is when the world began, on the machine's monotonic clock: the world's time is never ahead of the machine's,
// so the smallest difference ever seen is nearest to the truth.
type Origin struct {
	mu    sync.Mutex
	known bool
	at    int64
}

// instant is the world's present time on the machine's monotonic clock, in ns.
func (o *Origin) instant(h sim.Host) int64 {
	now, world := Monotonic(), int64(h.Due(0))
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known || now-world < o.at {
		o.known, o.at = true, now-world
	}
	return o.at + world
}
