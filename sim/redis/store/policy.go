package store

import "time"

// Policy says what of the data is on disk, and when.
type Policy uint8

const (
	// None is a node without any file: it restarts empty, even after a shutdown (save "", appendonly no).
	None Policy = iota
	// Everysec writes before the reply and fsyncs in the background, once in a second of the wall clock: the first
	// write in a second without fsync is synced at once, later ones when the next second begins. While an fsync runs,
	// writes wait for it, for about two seconds, and replies go out all the same.
	Everysec
	// Always fsyncs before the reply. What arrives meanwhile waits and shares the next fsync.
	Always
	// No leaves it to the operating system, which writes data back about 30 s after it was written.
	No
)

var policyNames = [...]string{"none", "everysec", "always", "no"}

// String gives the word of redis.conf, or "none".
func (p Policy) String() string {
	if int(p) >= len(policyNames) {
		return "unknown"
	}
	return policyNames[p]
}

// DefaultFsyncTime is what an fsync takes on a disk that is well.
const DefaultFsyncTime = time.Millisecond
