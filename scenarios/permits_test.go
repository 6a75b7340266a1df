package scenarios

import (
	"fmt"
	"strings"
	"testing"
)

// semaphoreText is a scenario whose lock is a semaphore of a Go library.
const semaphoreText = "name: semaphore\nservers: {redis: 1}\nclients: %d\n" +
	"lock: {protocol: %s, ttl: 8s, permits: %s}\n%s"

// TestPermitsAreForSemaphoresThatSomebodyWaitsFor: the header of a history states the permits, and a number of permits
// that is of no use is an error at its key.
func TestPermitsAreForSemaphoresThatSomebodyWaitsFor(t *testing.T) {
	s, err := ParseWith("semaphore.yaml", fmt.Appendf(nil, semaphoreText, 3, "library", "2", ""), &Code{})
	if err != nil {
		t.Fatal(err)
	}
	if got := header(s).Permits; got != 2 {
		t.Errorf("the header states %d permits, want 2", got)
	}
	for _, c := range []struct {
		clients                       int
		protocol, permits, more, want string
	}{
		{3, "library", "3", "", "semaphore.yaml:4:36: with 3 permits and 3 clients, nobody ever has to wait"},
		{3, "library", "0", "", "semaphore.yaml:4:45: expected a number from 1"},
		{3, "set-nx-px", "2", "", "semaphore.yaml:4:38: unknown key"},
		{3, "library", "2", "overrides: {client-1: {lock: {permits: 1}}}\n", "all clients take their permits from one"},
	} {
		text := fmt.Appendf(nil, semaphoreText, c.clients, c.protocol, c.permits, c.more)
		if _, err := ParseWith("semaphore.yaml", text, &Code{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\nis answered with\n%v\nnot with %q", text, err, c.want)
		}
	}
}
