package checker

import "testing"

// WithPromptRelease has the law of prompt_release_test.go be one of the laws until the test ends.
func WithPromptRelease(t *testing.T) {
	table, laws := lawTable, Laws
	t.Cleanup(func() { lawTable, Laws = table, laws })
	registerPromptRelease()
}
