package sweep

import (
	"fmt"
	"reflect"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
)

// variedFault is a fault with values that can be varied.
type variedFault struct {
	nemesis.Fault
	// void is set if the fault has no effect because a value is zero: a 0s jump, a 0s pause, a 0ppm drift.
	void bool
}

// faultField is a value in a fault line that can be varied.
type faultField struct {
	name  string
	unit  Unit
	of    nemesis.Field // the field of the fault that contains the value
	value func(*nemesis.Fault) int64
	set   func(*nemesis.Fault, int64)
	size  bool   // the fault is void if the value is zero
	title string // description of the value; a description of the fault follows it
}

var faultFields = []faultField{
	{name: "restart", unit: Durations, of: nemesis.FieldRestart, title: "restart delay after",
		value: func(f *nemesis.Fault) int64 { return int64(f.Restart) },
		set: func(f *nemesis.Fault, n int64) {
			f.Restart = time.Duration(n)
			if n == 0 { // 0 would mean no restart, so the shortest delay replaces it
				f.Restart = 1
			}
		}},
	{name: "for", unit: Durations, size: true, title: "length of",
		of:    nemesis.FieldFor,
		value: func(f *nemesis.Fault) int64 { return int64(f.For) },
		set:   func(f *nemesis.Fault, n int64) { f.For = time.Duration(n) }},
	{name: "by", unit: Durations, size: true, title: "size of",
		of:    nemesis.FieldBy,
		value: func(f *nemesis.Fault) int64 { return int64(f.By) },
		set:   func(f *nemesis.Fault, n int64) { f.By = time.Duration(n) }},
	{name: "ppm", unit: Rates, of: nemesis.FieldPPM, size: true, title: "rate of",
		value: func(f *nemesis.Fault) int64 { return int64(f.PPM) },
		set:   func(f *nemesis.Fault, n int64) { f.PPM = int(n) }},
	{name: "at", unit: Durations, of: nemesis.FieldTrigger, title: "time of",
		value: func(f *nemesis.Fault) int64 { return int64(f.Trigger.Time) },
		set:   func(f *nemesis.Fault, n int64) { f.Trigger.Time = time.Duration(n) }},
	{name: "pass", unit: Counts, of: nemesis.FieldTrigger, title: "passing that brings",
		value: func(f *nemesis.Fault) int64 { return int64(f.Trigger.Pass) },
		set:   func(f *nemesis.Fault, n int64) { f.Trigger.Pass = int(n) }},
	{name: "nth", unit: Counts, of: nemesis.FieldTrigger | nemesis.FieldMessage, title: "rank of the message of",
		value: func(f *nemesis.Fault) int64 { return int64(f.Trigger.Message.Nth) },
		set:   func(f *nemesis.Fault, n int64) { f.Trigger.Message.Nth = int(n) }},
	{name: "number", unit: Counts, of: nemesis.FieldNumber, title: "message of",
		value: func(f *nemesis.Fault) int64 { return int64(f.Number) },
		set:   func(f *nemesis.Fault, n int64) { f.Number = int(n) }},
}

// faultKeys returns the keys of the values that a sweep can vary in fault f, such as its duration. i is the fault's
// index, counted from 0. Which keys there are depends on f's kind, and on whether f strikes at a time, at a step of a
// client's work, or at a message that is identified by number or by content.
func faultKeys(i int, f *nemesis.Fault) []*Key {
	var keys []*Key
	for n := range faultFields {
		field := &faultFields[n]
		applies := f.Kind.Has(field.of)
		switch field.name {
		case "at":
			applies = applies && f.Trigger.Timed()
		case "pass":
			applies = applies && f.Trigger.Point != ""
		case "nth":
			applies = f.Trigger.Message.Named()
		case "number":
			applies = f.Number > 0
		}
		if !applies {
			continue
		}
		keys = append(keys, &Key{Path: fmt.Sprintf("faults.%d.%s", i+1, field.name), Unit: field.unit, fault: i + 1,
			field: field})
	}
	return keys
}

// set assigns n to the key's field.
func (k *Key) set(faults []variedFault, n int64) {
	f := &faults[k.fault-1]
	k.field.set(&f.Fault, n)
	if k.field.size {
		f.void = n == 0
	}
}

// readFault returns the key's value in its fault. ok is false if the fault does not specify the value.
func (k *Key) readFault(faults []variedFault) (int64, bool) {
	f := &faults[k.fault-1]
	n := k.field.value(&f.Fault)
	return n, n != 0 || f.void || k.field.name == "at"
}

// faultLines returns the lines for the faults that are not void. If a fault cannot be written as a line, problem says
// why.
func faultLines(faults []variedFault) (lines []string, problem string) {
	for i := range faults {
		f := &faults[i]
		if f.void {
			continue
		}
		line := f.String()
		if back, err := nemesis.Parse(line); err != nil || !reflect.DeepEqual(back, f.Fault) {
			return nil, fmt.Sprintf("fault %d cannot take this value: %s", i+1, line)
		}
		lines = append(lines, line)
	}
	return lines, ""
}
