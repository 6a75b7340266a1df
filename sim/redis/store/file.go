package store

import (
	"time"
)

const (
	postponeLimit = 2                       // seconds of the wall clock that a write waits for a running fsync
	writeBack     = 30 * int64(time.Second) // the time after which the operating system writes data back by itself
)

// File is the append-only file and its state. Effects are appended to a buffer. The buffer is written (write(2): it
// then survives the process), and then fsynced (it then survives the machine).
//
// The file schedules no events: its state is computed from times when it is needed. Times are ns on the node's
// monotonic clock, except two that Redis 7.0 counts in whole seconds of the wall clock (server.unixtime, in
// flushAppendOnlyFile of aof.c). Therefore the fsync of each second begins when a second of the wall clock begins.
type File struct {
	effects []Effect
	words   []string // backing array of the effects' args

	policy    Policy
	fsyncTime int64 // duration of an fsync that begins now
	offset    int64 // wall clock − monotonic clock

	// synced <= covered <= written <= appended <= len(effects). All five are at the end of a turn of the event loop, so
	// that a transaction or a script is either kept or lost as a whole.
	appended, written, covered, synced int

	running   bool  // an fsync of the effects before covered is running
	runEnd    int64 // when the fsync returns
	since     int64 // from when an fsync could have begun: the write, or the return of the previous fsync
	lastFsync int64 // second of the wall clock in which the latest fsync began
	waiting   bool  // the buffer is not written because an fsync is running
	waitStart int64 // second of the wall clock in which the waiting began
}

// Start begins a life with the effects that are on disk.
func (a *File) Start(policy Policy, fsyncTime time.Duration, mono, wall int64) {
	kept := len(a.effects)
	*a = File{effects: a.effects, words: a.words, policy: policy, fsyncTime: max(int64(fsyncTime), 0),
		offset: wall - mono, appended: kept, written: kept, covered: kept, synced: kept, lastFsync: wholeSeconds(wall)}
}

// Forget empties the file.
func (a *File) Forget() {
	clear(a.effects)
	clear(a.words)
	a.effects, a.words = a.effects[:0], a.words[:0]
}

// All returns all effects, even if they are not on disk yet.
func (a *File) All() []Effect { return a.effects }

// Add appends an effect that is made at now. It is not written before Commit.
func (a *File) Add(e Effect, now int64) {
	e.At = now
	a.effects = append(a.effects, e)
}

// Keep returns an argument list whose memory lives as long as the file.
func (a *File) Keep(name string, args []string) []string {
	from := len(a.words)
	a.words = append(append(a.words, name), args...)
	return a.words[from:len(a.words):len(a.words)]
}

// Replace replaces all effects by others, which count as made at now and on disk.
func (a *File) Replace(list []Effect, now int64) {
	a.Forget()
	for i := range list {
		a.Add(list[i], now)
	}
}

// Commit commits the effects that were added at now, if there are any.
func (a *File) Commit(now int64) {
	if len(a.effects) == a.appended {
		return
	}
	a.advance(now)
	a.appended = len(a.effects)
	if a.policy == Everysec && a.running {
		if !a.waiting {
			a.waiting, a.waitStart = true, a.wallSecond(now)
		}
		return
	}
	a.write(now)
	a.advance(now)
}

// write passes the buffer to the operating system.
func (a *File) write(now int64) {
	if a.written == a.synced {
		a.since = now
	}
	a.written, a.waiting = a.appended, false
}

// advance computes the state of the file at now.
func (a *File) advance(now int64) {
	switch a.policy {
	case Everysec:
		for a.stepEverysec(now) {
		}
	case No:
		for a.synced < a.written && a.effects[a.synced].At+writeBack <= now {
			a.synced++
		}
		a.covered = a.synced
	}
}

// stepEverysec carries out the next step that happens by itself until now. It reports whether there was one.
func (a *File) stepEverysec(now int64) bool {
	if !a.running {
		begin := max(a.since, a.startOf(a.lastFsync+1))
		if a.written == a.synced || begin > now {
			return false
		}
		a.begin(begin)
		return true
	}
	if forced := max(a.since, a.startOf(a.waitStart+postponeLimit)); a.waiting && forced < a.runEnd && forced <= now {
		// Redis now writes although the fsync is still running, and counts this as the fsync of the second.
		a.write(forced)
		a.lastFsync = max(a.lastFsync, a.wallSecond(forced))
		return true
	}
	if a.runEnd > now {
		return false
	}
	end := a.runEnd
	a.Finish()
	if a.waiting {
		a.write(end)
	}
	a.since = end
	return true
}

// begin starts an fsync of everything that is written.
func (a *File) begin(now int64) {
	a.running, a.covered = true, a.written
	a.lastFsync, a.runEnd = a.wallSecond(now), now+a.fsyncTime
}

// wholeSeconds returns a wall-clock time of ns in whole seconds, rounded down.
func wholeSeconds(wall int64) int64 {
	s := wall / int64(time.Second)
	if wall%int64(time.Second) < 0 {
		s--
	}
	return s
}

// wallSecond returns the second of the wall clock at a given time.
func (a *File) wallSecond(now int64) int64 { return wholeSeconds(now + a.offset) }

// startOf returns the time at which a second of the wall clock begins, if the clock runs true.
func (a *File) startOf(second int64) int64 { return second*int64(time.Second) - a.offset }

// SyncAlways begins the fsync that the policy Always requires. wait says whether replies must wait for an fsync; began
// says whether it is a new one, which Finish must end.
func (a *File) SyncAlways(now int64) (wait, began bool) {
	switch {
	case a.written == a.synced:
		return false, false
	case a.running:
		return true, false
	}
	a.begin(now)
	if a.fsyncTime <= 0 {
		a.Finish()
		return false, false
	}
	return true, true
}

// IsRunning reports whether an fsync is under way.
func (a *File) IsRunning() bool { return a.running }

// Takes returns the duration of an fsync that begins now.
func (a *File) Takes() time.Duration { return time.Duration(a.fsyncTime) }

// Finish ends the running fsync.
func (a *File) Finish() {
	a.running, a.synced = false, a.covered
}

// ClockChanged sets the new offset between the clocks. If the wall clock went back, the next background fsync is
// delayed, as in Redis.
func (a *File) ClockChanged(mono, wall int64) {
	a.advance(mono)
	a.offset = wall - mono
	a.since = max(a.since, mono) // a forward jump makes nothing begin before it
}

// Slow adds to the duration of fsyncs that begin after now.
func (a *File) Slow(now int64, by time.Duration) {
	a.advance(now)
	a.fsyncTime += int64(by)
}

// Settled returns the times, up to now, at which pending writes reach the disk. It works on a copy, so that the file
// itself is unchanged.
func (a File) Settled(now int64) []time.Duration {
	var at []time.Duration
	switch a.policy {
	case Everysec:
		for synced := a.synced; a.stepEverysec(now); synced = a.synced {
			if a.synced > synced {
				at = append(at, time.Duration(a.since)) // the return of the fsync
			}
		}
	case No:
		for i := a.synced; i < a.written && a.effects[i].At+writeBack <= now; i++ {
			at = append(at, time.Duration(a.effects[i].At+writeBack))
		}
	}
	return at
}

// Crash leaves only the effects that are on disk after a loss of power at now.
func (a *File) Crash(now int64) {
	a.advance(now)
	clear(a.effects[a.synced:])
	a.effects = a.effects[:a.synced]
}

// Policy says when data is on disk.
type Policy uint8

const (
	// None is a node without a file. It restarts empty, even after a shutdown (save "", appendonly no).
	None Policy = iota
	// Everysec writes before the reply and fsyncs in the background, once per second of the wall clock. The first write
	// in a second without an fsync is synced at once, later writes when the next second begins. While an fsync is
	// running, writes wait for it, for up to about two seconds, but replies do not.
	Everysec
	// Always fsyncs before the reply. Requests that arrive in the meantime share the next fsync.
	Always
	// No leaves fsync to the operating system, which writes data back about 30 s after it was written.
	No
)

var policyNames = [...]string{"none", "everysec", "always", "no"}

// String returns the policy's name in redis.conf, or "none".
func (p Policy) String() string {
	if int(p) >= len(policyNames) {
		return "unknown"
	}
	return policyNames[p]
}

// DefaultFsyncTime is the duration of an fsync on a healthy disk.
const DefaultFsyncTime = time.Millisecond
