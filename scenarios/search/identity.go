package search

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/fencepost-sim/fencepost/scenarios"
)

// Identity is what the runs of a search depend on.
type Identity struct {
	Text string `json:"text"` // hash of the scenario's text
	// Behaviour is the digest of one run with drawn faults. It differs when the program draws, runs or records otherwise.
	Behaviour string `json:"behaviour"`
}

// IdentityOf says what runs of s depend on. Its errors are those of NewPlans, and of the run.
func IdentityOf(s *scenarios.Scenario) (Identity, error) {
	plans, err := NewPlans(s)
	if err != nil {
		return Identity{}, err
	}
	r, err := scenarios.NewRunner(s).Run(plans.Plan(calm))
	if err != nil {
		return Identity{}, err
	}
	sum := sha256.Sum256(s.Text())
	return Identity{hex.EncodeToString(sum[:8]), fmt.Sprintf("%016x", uint64(r.Digest))}, nil
}
