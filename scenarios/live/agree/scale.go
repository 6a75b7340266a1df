package agree

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Times up to short are those of the network, of retries and of time-outs, which are no faster on a host: they stay.
// Longer ones are divided, but not to less than least.
const (
	short = 500 * time.Millisecond
	least = 250 * time.Millisecond
)

// defaults are the longer times that a file need not give.
var defaults = []struct {
	path, value string
	replicated  bool // it is a key of replicated servers
}{
	{"lock.ttl", "10s", false},
	{"servers.down-after", "30s", true},
	{"servers.reconfigure-after", "8s", true},
}

// shorter is a scenario with its longer times divided, and without what it expects of the metrics. Times that belong to
// Redis (the second of everysec and of a replica's acknowledgement) stay: a scenario that is about those comes out
// otherwise, and has to be left as it is.
func shorter(s *scenarios.Scenario, by int) (*scenarios.Scenario, error) {
	d, err := format.ParseDocument(s.Name+".yaml", s.Text())
	if err != nil {
		return nil, err
	}
	for _, of := range defaults {
		if _, given := d.Get(of.path); !given && (!of.replicated || s.Servers.Replicas > 0) {
			d.Set(of.path, of.value)
		}
	}
	divideBelow(d, "", by)
	faults := d.List("faults")
	for i := range faults {
		faults[i] = divided(faults[i], by)
	}
	if len(faults) > 0 {
		d.SetList("faults", faults)
	}
	return scenarios.Parse(s.Name+".yaml", []byte(d.String()))
}

// divideBelow divides the times below a path.
func divideBelow(d *format.Document, path string, by int) {
	for _, key := range d.Keys(path) {
		below := strings.TrimPrefix(path+"."+key, ".")
		switch below {
		case "name", "summary", "source", "faults":
			continue
		}
		if path == "expect" && strings.Contains(key, "_") || below == "servers.min-replicas-max-lag" {
			if path == "expect" {
				d.Remove(below) // a metric
			}
			continue
		}
		if text, scalar := d.Get(below); scalar {
			d.Set(below, divided(text, by))
		}
		divideBelow(d, below, by)
	}
}

// duration is a time as files have it, of one unit or several.
var duration = regexp.MustCompile(`\b(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+\b`)

// divided divides the longer times in a text.
func divided(text string, by int) string {
	return duration.ReplaceAllStringFunc(text, func(span string) string {
		t, err := time.ParseDuration(span)
		if err != nil || t <= short {
			return span
		}
		return fmt.Sprint(max(t/time.Duration(by), least).Round(time.Millisecond))
	})
}
