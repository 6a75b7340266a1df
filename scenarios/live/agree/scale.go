package agree

import (
	"regexp"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// scaledAbove and scaledLeast limit the scaling. Only times above scaledAbove are divided, and never to less than
// scaledLeast. Shorter times, such as retries and timeouts, are left alone.
const (
	scaledAbove = 500 * time.Millisecond
	scaledLeast = 250 * time.Millisecond
)

// networkDelay is the network delay of scenarios that do not specify one. A client takes a few tenths of a millisecond
// to send its first message, and the host may delay this message further. A fault that is due before tooEarly is
// therefore moved to movedTo.
const (
	networkDelay = "12ms..20ms"
	tooEarly     = time.Millisecond
	movedTo      = 8 * time.Millisecond
)

// scale describes how to change a scenario's times.
type scale struct {
	divisor int // the number by which long times are divided
	slowed  bool
}

// scales lists the scales to try, in this order.
var scales = []scale{{5, true}, {5, false}, {3, true}, {3, false}, {2, true}, {2, false}, {1, true}}

// changed returns the scenario with its times scaled, and without its metric expectations. Two times are built into
// Redis and cannot be scaled: the appendfsync everysec interval, and the interval between a replica's acknowledgments,
// each one second. A scenario that depends on them would get a different verdict, so it is not scaled.
func (c scale) changed(s *scenarios.Scenario) (*scenarios.Scenario, error) {
	d, err := format.ParseDocument(s.Name+".yaml", s.Text())
	if err != nil {
		return nil, err
	}
	if _, given := d.Get("lock.ttl"); !given {
		d.Set("lock.ttl", nemesis.FormatDuration(s.Clients[0].Lock.TTL)) // write the default explicitly
	}
	if _, given := d.Get("network.delay"); !given && c.slowed {
		d.Set("network.delay", networkDelay)
	}
	c.change(d, "")
	roundTTL(d, s)
	faults := d.List("faults")
	for i := range faults {
		faults[i] = c.text(faults[i], c.slowed)
	}
	if len(faults) > 0 {
		d.SetList("faults", faults)
	}
	return scenarios.Parse(s.Name+".yaml", []byte(d.String()))
}

// change scales all times at or below a path in the document. It removes expectations of metrics.
func (c scale) change(d *format.Document, path string) {
	for _, key := range d.Keys(path) {
		below := strings.TrimPrefix(path+"."+key, ".")
		switch below {
		case "name", "summary", "source", "faults":
			continue
		}
		if path == "expect" && strings.Contains(key, "_") || below == "expect.metrics" {
			d.Remove(below)
			continue
		}
		if text, scalar := d.Get(below); scalar {
			d.Set(below, c.text(text, false))
		}
		c.change(d, below)
	}
}

// roundTTL rounds the TTL to a value that the protocol accepts: etcd's TTLs are whole seconds, and ZooKeeper's sessions
// have a minimum.
func roundTTL(d *format.Document, s *scenarios.Scenario) {
	text, _ := d.Get("lock.ttl")
	ttl := locks.Define(s.Clients[0].Lock.Protocol).Setting("ttl")
	if t, err := nemesis.ParseDuration(text); err == nil && ttl != nil {
		d.Set("lock.ttl", time.Duration(ttl.Form.Nearest(int64(t))).String())
	}
}

// duration matches a duration as it is written in scenario files, with one or more units.
var duration = regexp.MustCompile(`\b(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+\b`)

// text scales the times in a string. fault says whether the string is a fault's line.
func (c scale) text(text string, fault bool) string {
	return duration.ReplaceAllStringFunc(text, func(span string) string {
		t, err := nemesis.ParseDuration(span)
		switch {
		case err != nil:
			return span
		case t > scaledAbove && c.divisor > 1:
			return max(t/time.Duration(c.divisor), scaledLeast).Round(time.Millisecond).String()
		case 0 < t && t < tooEarly && fault:
			return movedTo.String()
		}
		return span
	})
}
