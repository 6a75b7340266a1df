package corpus

import "github.com/fencepost-sim/fencepost/scenarios"

// Scenario is the mutant as a scenario.
func (m *Mutant) Scenario() (*scenarios.Scenario, error) { return m.scenario() }
