package main

// The exit codes, as the README documents them.
const (
	exitExpected  = 0
	exitOtherwise = 1
	exitBadInput  = 2
	exitUndecided = 3
)
