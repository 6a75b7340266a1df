package store

import (
	"math"
	"time"
)

const (
	postponeLimit = 2 * time.Second // how long a write waits for a running fsync, on the wall clock
	// how long the operating system waits after a write before it writes the data to disk on its own
	writeBack = 30 * int64(time.Second)
)

// File is the append-only file and its state. Effects are appended to a buffer, which is then written with write(2).
// From then on, the effects survive if the process ends. An fsync follows; after it, the effects also survive a power
// loss.
//
// The file schedules no events. Whenever its state is needed, it is computed from the times of past events. Times are
// in ns on the node's monotonic clock, except for two times that are on the wall clock. Redis 7.0 counts these two in
// whole seconds (server.unixtime, in flushAppendOnlyFile of aof.c). Therefore the fsync of each second starts when a
// second of the wall clock starts. Redis 8 counts them in milliseconds (server.mstime), and an fsync starts a second
// after the last fsync.
type File struct {
	effects []Effect
	words   []string // memory for the args of the effects

	policy    Policy
	fsyncTime int64 // duration of an fsync that begins now
	unit      int64 // the unit in which Redis counts times of the wall clock, in ns
	offset    int64 // wall clock minus monotonic clock

	// The fields below are numbers of effects: synced <= covered <= written <= appended <= len(effects). All five are
	// determined at the end of a turn of the event loop, so that a transaction or script is either kept or lost
	// completely.
	appended, written, covered, synced int

	running bool  // an fsync of the first covered effects is running
	runEnd  int64 // when that fsync ends
	// the earliest time at which an fsync can begin: the time of the write, or the end of the previous fsync
	since     int64
	lastFsync int64 // wall clock when the last fsync began, in units
	waiting   bool  // the buffer has not been written yet because an fsync is running
	waitStart int64 // wall clock when waiting became true, in units
}

// Start is called when the process starts. It assumes that all effects still in the file are on disk. unit is the unit
// in which the server counts wall-clock time: a second in Redis 7.0, and a millisecond in Redis 8.
func (a *File) Start(policy Policy, fsyncTime, unit time.Duration, mono, wall int64) {
	kept := len(a.effects)
	*a = File{effects: a.effects, words: a.words, policy: policy, fsyncTime: max(int64(fsyncTime), 0),
		unit: int64(unit), offset: wall - mono, appended: kept, written: kept, covered: kept, synced: kept}
	a.lastFsync = a.wallUnits(mono)
}

// Forget empties the file.
func (a *File) Forget() {
	clear(a.effects)
	clear(a.words)
	a.effects, a.words = a.effects[:0], a.words[:0]
}

// All returns all effects, including those that are not on disk yet.
func (a *File) All() []Effect { return a.effects }

// Add appends an effect that was made at time now. The next Commit writes the effect to the file.
func (a *File) Add(e Effect, now int64) {
	e.At = now
	a.effects = append(a.effects, e)
}

// Keep returns a copy of an argument list. The copy stays valid as long as the file exists.
func (a *File) Keep(name string, args []string) []string {
	from := len(a.words)
	a.words = append(append(a.words, name), args...)
	return a.words[from:len(a.words):len(a.words)]
}

// Replace replaces all effects in the file with those in the list, as if they had been added at time now. Call Start
// afterward, so that they count as being on disk.
func (a *File) Replace(list []Effect, now int64) {
	a.Forget()
	for i := range list {
		a.Add(list[i], now)
	}
}

// Commit writes the effects, if any, that were added since the last Commit. While an fsync is running, it may postpone
// the write. now is the current time.
func (a *File) Commit(now int64) {
	if len(a.effects) == a.appended {
		return
	}
	a.advance(now)
	a.appended = len(a.effects)
	if a.policy == Everysec && a.running {
		if !a.waiting {
			a.waiting, a.waitStart = true, a.wallUnits(now)
		}
		return
	}
	a.write(now)
	a.advance(now)
}

// write writes the buffer to the operating system.
func (a *File) write(now int64) {
	if a.written == a.synced {
		a.since = now
	}
	a.written, a.waiting = a.appended, false
}

// advance brings the file's state up to time now.
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

// stepEverysec executes the next step that is due by now, such as the start or the end of an fsync. It reports whether
// there was such a step.
func (a *File) stepEverysec(now int64) bool {
	if !a.running {
		begin := max(a.since, a.toMonotonic(a.lastFsync, time.Second))
		if a.written == a.synced || begin > now {
			return false
		}
		a.begin(begin)
		return true
	}
	forced := max(a.since, a.toMonotonic(a.waitStart, postponeLimit))
	if a.waiting && forced < a.runEnd && forced <= now {
		// Redis writes now even though the fsync is still running. It counts this write as the fsync of the current
		// second.
		a.write(forced)
		a.lastFsync = max(a.lastFsync, a.wallUnits(forced))
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

// begin starts an fsync of everything that has been written.
func (a *File) begin(now int64) {
	a.running, a.covered = true, a.written
	a.lastFsync, a.runEnd = a.wallUnits(now), now+a.fsyncTime
}

// wallUnits returns the wall-clock time at now, in units of a.unit, rounded down.
func (a *File) wallUnits(now int64) int64 {
	wall := now + a.offset
	units := wall / a.unit
	if wall%a.unit < 0 {
		units--
	}
	return units
}

// toMonotonic converts a wall-clock time, in units of a.unit nanoseconds, to a time on the monotonic clock, and adds d.
// It assumes that the wall clock is not changed in the meantime.
func (a *File) toMonotonic(units int64, d time.Duration) int64 {
	return units*a.unit + int64(d) - a.offset
}

// SyncAlways starts the fsync that the Always policy requires, unless one is already running. mustWait reports whether
// replies must wait for an fsync. started reports whether this call has started one that takes time. If so, the caller
// must call Finish when the fsync ends.
func (a *File) SyncAlways(now int64) (mustWait, started bool) {
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

// Takes returns how long an fsync takes if it begins now.
func (a *File) Takes() time.Duration { return time.Duration(a.fsyncTime) }

// Len returns the number of effects in the file.
func (a *File) Len() int { return len(a.effects) }

// Synced returns the number of effects that are on disk at time now.
func (a *File) Synced(now int64) int {
	a.advance(now)
	return a.synced
}

// SyncedAt returns the time at which the given number of effects will be on disk under the Everysec policy, if nothing
// changes until then. It works on a copy, so the file itself does not change.
func (a File) SyncedAt(count int) int64 {
	for a.synced < count && a.stepEverysec(math.MaxInt64) {
	}
	return a.since // the end of the last fsync
}

// Finish ends the running fsync.
func (a *File) Finish() {
	a.running, a.synced = false, a.covered
}

// ClockChanged sets the new offset between the wall clock and the monotonic clock. If the wall clock was set back, this
// delays the next background fsync, as in Redis.
func (a *File) ClockChanged(mono, wall int64) {
	a.advance(mono)
	a.offset = wall - mono
	a.since = max(a.since, mono) // after a forward jump, nothing may begin before the jump
}

// Slow adds the given time to the duration of each fsync that begins after now.
func (a *File) Slow(now int64, by time.Duration) {
	a.advance(now)
	a.fsyncTime += int64(by)
}

// Settled returns the times, up to now, at which pending writes reached the disk. It works on a copy, so the file
// itself does not change.
func (a File) Settled(now int64) []time.Duration {
	var at []time.Duration
	switch a.policy {
	case Everysec:
		for synced := a.synced; a.stepEverysec(now); synced = a.synced {
			if a.synced > synced {
				at = append(at, time.Duration(a.since)) // the end of the fsync
			}
		}
	case No:
		for i := a.synced; i < a.written && a.effects[i].At+writeBack <= now; i++ {
			at = append(at, time.Duration(a.effects[i].At+writeBack))
		}
	}
	return at
}

// Crash simulates a power loss at time now: it removes all effects that are not on disk yet.
func (a *File) Crash(now int64) {
	a.advance(now)
	clear(a.effects[a.synced:])
	a.effects = a.effects[:a.synced]
}

// Policy determines when data is written to disk.
type Policy uint8

const (
	// None means that the node has no file. The node is empty after a restart, even after a clean shutdown (save "",
	// appendonly no).
	None Policy = iota
	// Everysec means that data is written to the file before the reply, and fsynced in the background once per second
	// of the wall clock. A write is synced at once if there was no fsync in the current second, and otherwise when the
	// next second begins. While an fsync is running, writes are postponed for up to about two seconds, but replies do
	// not wait.
	Everysec
	// Always means that data is fsynced before the reply. Requests that arrive during an fsync share the next one.
	Always
	// No means that fsync is never called. The operating system writes the data to disk about 30 s later.
	No
)

var policyNames = [...]string{"none", "everysec", "always", "no"}

// String returns the name that redis.conf uses for the policy, or "none".
func (p Policy) String() string {
	if int(p) >= len(policyNames) {
		return "unknown"
	}
	return policyNames[p]
}

// DefaultFsyncTime is how long an fsync takes on a healthy disk.
const DefaultFsyncTime = time.Millisecond
