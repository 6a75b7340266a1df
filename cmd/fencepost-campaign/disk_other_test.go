//go:build !linux

package main

import "testing"

// disk stands in for the small disk that the tests use on Linux. On other systems there is no such disk.
type disk struct{}

func smallDisk(testing.TB, string, int) *disk { return nil }

func (*disk) fill(int64) {}

func (*disk) empty() {}
