package main

// The exit codes, as documented in the README.
const (
	exitExpected  = 0
	exitOtherwise = 1
	exitBadInput  = 2
	exitUndecided = 3
)
