// Package features summarizes a run as a small set of things that happened to its locks. For example: an attempt was
// abandoned and its key removed; a request took effect after its attempt was abandoned; a key disappeared while its
// holder was relying on it. A feature that did not occur in any run was not tested.
//
// Goals: features are derived only from the history, so they are the same for Redis, etcd, ZooKeeper and third-party
// libraries; each can be printed in plain English; deriving them takes little time compared to the run.
//
// Non-goals: judging. A law violation is not a feature.
package features

// Feature is something that can happen to a lock.
type Feature uint8

// The features below are about an attempt, from its first request to its grant. In their names, an attempt is called a
// try.
const (
	tryLost Feature = iota
	keyTakenBack
	keyLeftBehind
	setTooLate
	setAfterRelease
	setAgain
	keyOverwritten
	setBesideAnother
	keyGoneBeforeGrant
	acquireFailed
	acquireUnanswered
	grantedBesideKey
	grantedDuringValidity
	grantedDuringSection
	grantedSecondAfterSection
	grantedTenthAfterSection
	grantedHundredthAfterSection
	grantedMillisecondAfterSection
	grantedSecondAfterValidity
	grantedTenthAfterValidity
	grantedHundredthAfterValidity
	grantedMillisecondAfterValidity
	expiredSecondAfterValidity
	expiredTenthAfterValidity
	expiredHundredthAfterValidity
	expiredMillisecondAfterValidity
	grantedWithoutKey
	grantedTooLate
	grantedSlowly
	expiredWithinValidity
	tokenRepeated
	tokenLower
	freeThoughAsked
	wokenInVain
	wokenToFree

	// The features below occur while a lock is held.
	heldKeyExpired
	heldKeyRemoved
	heldKeyRemovedByItself
	heldKeyLost
	heldKeyFailedOver
	secondKeyGone
	thirdKeyGone
	extended
	extendedWithoutKey
	extendedTooLate
	extendedDuringSection
	extendFailed
	extendUnanswered
	keyShortened
	keyProlongedByAnother
	keyProlongedAfterRelease
	keyOfLostTryProlonged
	lossNoticed
	lossNoticedWrongly
	accessRefused
	accessAfterSection
	accessDuringSection

	// The features below are about how a client stops holding a lock, and what remains after that.
	releasedAfterValidity
	releasedWithoutKey
	releasedDuringSection
	releaseFailed
	releaseUnanswered
	removedAfterReturn
	removedByOlder
	removedByAnother
	removedDuringSection
	releasedKeyExpired
	crashedInside
	crashedAsking
	crashedReleasing

	// The features below are about servers.
	takenOverHeld
	takenOverAsked
	copiedTooLate

	Things = iota // the number of features
)

var words = [Things]string{
	tryLost:               "an attempt that had set a key was abandoned",
	keyTakenBack:          "an abandoned attempt removed its key",
	keyLeftBehind:         "the key of an abandoned attempt expired",
	setTooLate:            "a key was set for an abandoned attempt",
	setAfterRelease:       "a key was set after release was called for it",
	setAgain:              "an attempt set its key twice",
	keyOverwritten:        "a key was overwritten with the key of another attempt",
	setBesideAnother:      "a key was set while another attempt's key existed on another server",
	keyGoneBeforeGrant:    "a key was gone before its attempt was granted",
	acquireFailed:         "an acquire failed",
	acquireUnanswered:     "an acquire got no answer",
	grantedBesideKey:      "a lock was granted while another attempt's key existed on a server",
	grantedDuringValidity: "a lock was granted during another holder's validity",
	grantedDuringSection:  "a lock was granted while another client was in its critical section",

	grantedSecondAfterSection: "a lock was granted within a second of the end of another holder's critical " +
		"section",
	grantedTenthAfterSection:     "a lock was granted within 100 ms of the end of another holder's critical section",
	grantedHundredthAfterSection: "a lock was granted within 10 ms of the end of another holder's critical section",
	grantedMillisecondAfterSection: "a lock was granted within a millisecond of the end of another holder's " +
		"critical section",
	grantedSecondAfterValidity:      "a lock was granted within a second of the end of another holder's validity",
	grantedTenthAfterValidity:       "a lock was granted within 100 ms of the end of another holder's validity",
	grantedHundredthAfterValidity:   "a lock was granted within 10 ms of the end of another holder's validity",
	grantedMillisecondAfterValidity: "a lock was granted within a millisecond of the end of another holder's validity",
	expiredSecondAfterValidity:      "a key expired less than a second after its holder's validity ended",
	expiredTenthAfterValidity:       "a key expired less than 100 ms after its holder's validity ended",
	expiredHundredthAfterValidity:   "a key expired less than 10 ms after its holder's validity ended",
	expiredMillisecondAfterValidity: "a key expired less than a millisecond after its holder's validity ended",

	grantedWithoutKey:     "a lock was granted although its key was gone from a server",
	grantedTooLate:        "a lock was granted although its validity had ended",
	grantedSlowly:         "a grant took longer than a quarter of the TTL",
	expiredWithinValidity: "a key expired before the end of its validity",
	tokenRepeated:         "a token was issued twice",
	tokenLower:            "a token was lower than an earlier one",
	freeThoughAsked:       "a lock was free for a quarter of the TTL while a client requested it",
	wokenInVain:           "a waiter was woken while another attempt's key existed",
	wokenToFree:           "a waiter was woken while the key did not exist",

	heldKeyExpired:           "a key expired while its holder was in its critical section",
	heldKeyRemoved:           "a key was removed by another client while its holder was in its critical section",
	heldKeyRemovedByItself:   "a key was removed by its own request while its holder was in its critical section",
	heldKeyLost:              "a server lost a key while its holder was in its critical section",
	heldKeyFailedOver:        "a failover lost a key while its holder was in its critical section",
	secondKeyGone:            "a holder lost a second key",
	thirdKeyGone:             "a holder lost a third key",
	extended:                 "a lease was extended",
	extendedWithoutKey:       "a lease was extended although its key was gone from a server",
	extendedTooLate:          "a lease was extended after its end",
	extendedDuringSection:    "a lease was extended while another client was in its critical section",
	extendFailed:             "an extension failed",
	extendUnanswered:         "an extension got no answer",
	keyShortened:             "a key's lifetime was shortened",
	keyProlongedByAnother:    "a key was extended by another attempt",
	keyProlongedAfterRelease: "a key was extended after release was called for it",
	keyOfLostTryProlonged:    "a key was extended for an attempt that was not granted",
	lossNoticed:              "a holder noticed that its lock was gone",
	lossNoticedWrongly:       "a holder considered its lock lost although its key existed",
	accessRefused:            "the resource refused an access",
	accessAfterSection:       "an access took effect after its critical section",
	accessDuringSection:      "an access took effect while another client was in its critical section",

	releasedAfterValidity: "a release was called after the validity had ended",
	releasedWithoutKey:    "a release was called after the key was gone",
	releasedDuringSection: "a release was called while another client was in its critical section",
	releaseFailed:         "a release failed",
	releaseUnanswered:     "a release got no answer",
	removedAfterReturn:    "a release took effect after it had returned",
	removedByOlder:        "a key was removed by an earlier attempt of the same client",
	removedByAnother:      "another client removed a key that no longer stood for a held lock",
	removedDuringSection:  "a release took effect while another client was in its critical section",
	releasedKeyExpired:    "a released key remained until it expired",
	crashedInside:         "a holder crashed",
	crashedAsking:         "a client that had set a key crashed",
	crashedReleasing:      "a client crashed during its release",

	takenOverHeld:  "another server took over while a lock was held",
	takenOverAsked: "another server took over while a lock was requested",
	copiedTooLate:  "a key was copied to another server after it was gone",
}

// String describes the feature, such as "a lease was extended".
func (f Feature) String() string { return words[f] }

// set is a set of features. list contains them in the order in which they were added. The zero set is empty.
type set struct {
	bits [(Things + 63) / 64]uint64
	list []Feature
}

func (s *set) reset() {
	clear(s.bits[:])
	s.list = s.list[:0]
}

func (s *set) add(f Feature) {
	if word, bit := &s.bits[f/64], uint64(1)<<(f%64); *word&bit == 0 {
		*word |= bit
		s.list = append(s.list, f)
	}
}
