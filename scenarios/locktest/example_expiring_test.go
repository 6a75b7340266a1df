package locktest_test

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// expiring is a mutex that reports until when it is valid.
type expiring struct{ *mutex }

func (e expiring) ValidUntil() time.Time { return e.validUntil }

func newExpiring(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return expiring{m}, nil
}

// With ChecksValidity, the client calls ValidUntil before each write, and does not write once that time has passed.
func ExampleExpiring() {
	TestExpiring := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newExpiring, TTL: lease, Faults: locktest.Pauses,
			Precautions: locktest.Precautions{ChecksValidity: true}, Laws: locktest.LeaseLaws})
	}
	_ = TestExpiring
}
