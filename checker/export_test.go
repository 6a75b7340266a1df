package checker

import "testing"

// WithPromptRelease registers the law in prompt_release_test.go until the test ends.
func WithPromptRelease(t *testing.T) {
	table, laws := lawTable, Laws
	t.Cleanup(func() { lawTable, Laws = table, laws })
	registerPromptRelease()
}
