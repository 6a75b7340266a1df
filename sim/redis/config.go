package redis

import "time"

// Persistence says what of the data is on disk, and when.
type Persistence uint8

const (
	// None is a node without any file: it restarts empty, even after a shutdown (save "", appendonly no).
	None Persistence = iota
	// AppendEverysec writes before the reply and fsyncs in the background, at most once a second: the first write
	// after a second without fsync is synced at once, later ones when the second is over. While an fsync runs,
	// writes wait for it, at most two seconds, and replies go out all the same.
	AppendEverysec
	// AppendAlways fsyncs before the reply. What arrives meanwhile waits and shares the next fsync.
	AppendAlways
	// AppendNo leaves it to the operating system, which writes data back about 30 s after it was written.
	AppendNo
)

var persistenceNames = [...]string{"none", "everysec", "always", "no"}

// String gives the word of redis.conf, or "none".
func (p Persistence) String() string {
	if int(p) >= len(persistenceNames) {
		return "unknown"
	}
	return persistenceNames[p]
}

// DefaultFsyncTime is what an fsync takes on a disk that is well.
const DefaultFsyncTime = time.Millisecond

// Config is what a run may choose about a node.
type Config struct {
	Persistence Persistence
	// FsyncTime is how long one fsync takes. Zero is immediate; negative counts as zero.
	FsyncTime time.Duration
}
