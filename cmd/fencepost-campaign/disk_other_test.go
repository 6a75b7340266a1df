//go:build !linux

package main

import "testing"

// disk is a small disk of a test's own, which there is only on Linux.
type disk struct{}

func smallDisk(testing.TB, string, int) *disk { return nil }

func (*disk) fill(int64) {}

func (*disk) empty() {}
