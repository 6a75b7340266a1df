package history

import (
	"fmt"
	"slices"
)

// ends lists the words for how a key was removed: those that Event.Why may have on key-gone and copy-gone. On other
// events, Event.Why may be any text.
var ends = []Why{Expired, Deleted, LostUnsynced, LostUnpersisted, LostDisk, LostInFailover, Flushed, NotRecorded,
	Evicted, DeletedByOperator, FlushedByOperator}

// ops lists the words that Event.Op may have.
var ops = []F{Read, Write}

var measures = []Measure{Fencing, ComparedWrites, FsyncAlways, WaitForReplicas, MinReplicas, Expiry, OwnerCheck,
	ExtendCheck, ObeyedExtension, KeptExtension, OwnValue, ElapsedCheck, RelativeExpiry, CountedEntries, GrantToken,
	SeenLease, LongLease, MonotonicClock, DriftAllowance, ValidityCheck, StopWhenLost, Renewal, CappedExtension,
	RandomRetry, Parallel, ShortTimeout, Recheck, StopFirst, LooksAgain, FirstInLine, KeptPlaces, RenewedPlaces,
	LeftPlaces}

var lapses = []Lapse{PartOfOwner, RenewalStops}

// wrongWord returns an error if one of the event's fields has a word that is not valid there.
func (e *Event) wrongWord() error {
	switch {
	case e.Op != "" && !slices.Contains(ops, e.Op):
		return unknownWord("op", e.Op, ops)
	case (e.F == KeyGone || e.F == CopyGone) && e.Why != "" && !slices.Contains(ends, e.Why):
		return fmt.Errorf("%s: %w", e.F, unknownWord("why", e.Why, ends))
	}
	return nil
}

// wrongWord returns an error if one of the header's fields has a word that is not valid there.
func (h *Header) wrongWord() error {
	kinds := make([]Service, len(serviceKinds))
	for i := range serviceKinds {
		kinds[i] = serviceKinds[i].Name
	}
	if h.Service != "" && !slices.Contains(kinds, h.Service) {
		return unknownWord("service", h.Service, kinds)
	}
	for _, m := range slices.Concat(h.Measures, h.Unknown) {
		if !slices.Contains(measures, m) {
			return unknownWord("measure", m, measures)
		}
	}
	for _, l := range h.Lapses {
		if !slices.Contains(lapses, l) {
			return unknownWord("lapse", l, lapses)
		}
	}
	return nil
}

// unknownWord returns an error for a word that is not one of the choices.
func unknownWord[T ~string](what string, word T, choices []T) error {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = string(c)
	}
	return unknown("unknown "+what, string(word), names)
}
