package history

import (
	"strconv"
	"time"
)

// Time is true time: nanoseconds since the start of the run. No process of a run can read it.
type Time int64

// Of converts a duration since the start.
func Of(d time.Duration) Time { return Time(d) }

// Duration is the time since the start.
func (t Time) Duration() time.Duration { return time.Duration(t) }

// String returns seconds with as many decimals as a reader needs, down to microseconds: "10.131 s".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	s := strconv.FormatFloat(float64(t)/1e9, 'f', 6, 64)
	for s[len(s)-1] == '0' && s[len(s)-4] != '.' { // keep milliseconds
		s = s[:len(s)-1]
	}
	return s + " s"
}
