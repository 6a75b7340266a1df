package store

import (
	"time"
)

const (
	postponeLimit = 2                       // seconds of the wall clock that a write waits for a running fsync
	writeBack     = 30 * int64(time.Second) // after which the operating system writes data back by itself
)

// File is the append-only file and how far it has come: effects are appended to a buffer, the buffer is written
// (write(2): it survives the process), and what is written is fsynced (it survives the machine).
//
// Nothing here costs an event: where the file stands is computed from times when somebody asks. Times are ns on the
// node's monotonic clock, except for two that Redis 7.0 counts in whole seconds of the wall clock (server.unixtime, in
// flushAppendOnlyFile of aof.c): so the fsync of every second begins as the wall clock's second does.
type File struct {
	effects []Effect
	words   []string // backing of the effects' args

	policy    Policy
	fsyncTime int64 // what an fsync takes that begins now
	offset    int64 // wall clock − monotonic clock

	// synced <= covered <= written <= appended <= len(effects). All five end between turns of the event loop, so a
	// transaction or script is kept whole or lost whole.
	appended, written, covered, synced int

	running   bool  // an fsync of the first covered effects
	runEnd    int64 // when it returns
	since     int64 // from when an fsync could have begun: the write, or the return of the fsync before
	lastFsync int64 // wall second in which the last one began
	waiting   bool  // the buffer is not written since an fsync is running
	waitStart int64 // wall second in which that began
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

// All lists the effects, whether or not they are on disk yet.
func (a *File) All() []Effect { return a.effects }

// Add appends an effect that is made at now. It is not on its way to the disk before it is committed.
func (a *File) Add(e Effect, now int64) {
	e.At = now
	a.effects = append(a.effects, e)
}

// Keep makes an argument list that lives as long as the file.
func (a *File) Keep(name string, args []string) []string {
	from := len(a.words)
	a.words = append(append(a.words, name), args...)
	return a.words[from:len(a.words):len(a.words)]
}

// Replace puts other effects in the place of all, made at now and on disk.
func (a *File) Replace(list []Effect, now int64) {
	a.Forget()
	for i := range list {
		a.Add(list[i], now)
	}
}

// Commit takes the effects that were made at now, if there are any.
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

// advance brings the file to where it stands at now.
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

// stepEverysec carries out the next thing that happens by itself until now, if there is one.
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
		// Redis now writes although the fsync still runs, and counts this as the second's fsync.
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

// begin starts an fsync of all that is written.
func (a *File) begin(now int64) {
	a.running, a.covered = true, a.written
	a.lastFsync, a.runEnd = a.wallSecond(now), now+a.fsyncTime
}

// wholeSeconds is the whole seconds of a wall-clock reading in ns.
func wholeSeconds(wall int64) int64 {
	s := wall / int64(time.Second)
	if wall%int64(time.Second) < 0 {
		s--
	}
	return s
}

// wallSecond is the second that the wall clock shows at a time.
func (a *File) wallSecond(now int64) int64 { return wholeSeconds(now + a.offset) }

// startOf is when the wall clock will show a second, if it runs true.
func (a *File) startOf(second int64) int64 { return second*int64(time.Second) - a.offset }

// SyncAlways begins the fsync that Always demands. wait reports whether replies must wait for one, began whether
// it is a new one, which Finish has to end.
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

// Takes is how long an fsync takes that begins now.
func (a *File) Takes() time.Duration { return time.Duration(a.fsyncTime) }

// Finish ends the running fsync.
func (a *File) Finish() {
	a.running, a.synced = false, a.covered
}

// ClockChanged takes the new distance between the clocks. A wall clock that went back puts the next background fsync
// off, as it does in Redis.
func (a *File) ClockChanged(mono, wall int64) {
	a.advance(mono)
	a.offset = wall - mono
	a.since = max(a.since, mono) // a forward jump makes nothing begin before it
}

// Slow changes how long fsyncs take that begin after now.
func (a *File) Slow(now int64, by time.Duration) {
	a.advance(now)
	a.fsyncTime += int64(by)
}

// Settled lists when, until now, effects that are not on disk yet reach it. It computes ahead on a copy.
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

// Crash keeps what is on disk after a loss of power at now.
func (a *File) Crash(now int64) {
	a.advance(now)
	clear(a.effects[a.synced:])
	a.effects = a.effects[:a.synced]
}

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
