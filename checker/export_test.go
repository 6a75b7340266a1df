package checker

import "testing"

// WithPromptRelease has the law of prompt_release_test.go be one of the laws until the test ends.
func WithPromptRelease(t *testing.T) {
	before := lawTable
	t.Cleanup(func() { lawTable, Laws = before, lawNames(before) })
	lawTable = append(before[:len(before):len(before)],
		lawRow{PromptRelease, "nobody stays in a section for longer than a second", (*judge).promptRelease, nil})
	Laws = lawNames(lawTable)
}
