package advise

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// TestAMixThatOtherServersCannotSufferIsLeftBehind checks that switching to a protocol on another kind of server is
// still a valid change if the file's mix has settings that apply only to its own kind of server.
func TestAMixThatOtherServersCannotSufferIsLeftBehind(t *testing.T) {
	for _, mix := range []string{"{with: [flush, evict key], faults: 3}", "{slow-fsync: 1ms..2ms, faults: 3}"} {
		b, err := newSubject(parsed(t, "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\nmix: "+mix+"\n"),
			Options{From: 1, Seeds: 1})
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, d := range locks.Definitions() {
			if d.Backend == locks.OnRedis || d.Name == locks.FromLibrary {
				continue
			}
			tried++
			doc := b.doc.Clone()
			apply(doc, b.protocol(d).edits)
			s, err := scenarios.Parse("x", []byte(doc.String()))
			if err != nil {
				t.Errorf("mix: %s with %s: %v\n%s", mix, d.Name, err, doc)
			} else if s.Mix.Most != 3 {
				t.Errorf("mix: %s with %s: the rest of the mix is gone\n%s", mix, d.Name, doc)
			}
		}
		if tried < 3 {
			t.Errorf("%d protocols on other servers", tried)
		}
	}
}
