package scenarios

import (
	"fmt"
	"strings"
	"testing"
)

// semaphoreText is a scenario with a semaphore as its lock.
const semaphoreText = "name: semaphore\nservers: {%s: 1}\nclients: %d\n" +
	"lock: {protocol: %s, ttl: 8s, permits: %s}\n%s"

// TestPermitsAreForSemaphoresThatSomebodyWaitsFor checks that a history's header contains the number of permits. If the
// number of permits does not make sense, there must be an error at the setting's position.
func TestPermitsAreForSemaphoresThatSomebodyWaitsFor(t *testing.T) {
	s, err := ParseWith("semaphore.yaml", fmt.Appendf(nil, semaphoreText, "redis", 3, "library", "2", ""), &Code{})
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
		{3, "set-nx-px", "2", "", "semaphore.yaml:4:38: permits is a setting of etcd, zookeeper, permit-list and " +
			"semaphore, but the protocol is set-nx-px: remove it"},
		{2, "semaphore", "2", "", "with 2 permits and 2 clients, nobody ever has to wait"},
		{3, "semaphore", "2", "overrides: {client-1: {lock: {permits: 1}}}\n",
			"all clients take their permits from one"},
		{3, "etcd", "2, line: one-key", "", "only one client can hold the lock, but there are several"},
		{3, "zookeeper", "2, watch: lowest", "", "watches the folder"},
		{3, "zookeeper", "2", "overrides: {client-1: {lock: {shared: on}}}\n", "has no readers and writers"},
		{3, "semaphore", "2, admit: rank", "", "write `time: client`"},
		{3, "semaphore", "2", "resource: {fencing: on}\n", "fencing would refuse all but the latest"},
		{3, "library", "2", "overrides: {client-1: {lock: {permits: 1}}}\n", "all clients take their permits from one"},
	} {
		servers := "redis"
		if c.protocol == "etcd" || c.protocol == "zookeeper" {
			servers = c.protocol
		}
		text := fmt.Appendf(nil, semaphoreText, servers, c.clients, c.protocol, c.permits, c.more)
		if _, err := ParseWith("semaphore.yaml", text, &Code{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\nis answered with\n%v\nnot with %q", text, err, c.want)
		}
	}
}
