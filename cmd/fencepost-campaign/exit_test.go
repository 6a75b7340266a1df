package main

import "github.com/fencepost-sim/fencepost/cmd/output"

// Exit codes, for short.
const (
	exitExpected  = output.ExitExpected
	exitOtherwise = output.ExitOtherwise
	exitBadInput  = output.ExitBadInput
	exitUndecided = output.ExitUndecided
)
