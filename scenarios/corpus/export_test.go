package corpus

import "github.com/fencepost-sim/fencepost/scenarios"

// Scenario returns the mutant as a scenario.
func (m *Mutant) Scenario() (*scenarios.Scenario, error) { return m.scenario() }
