//go:build !linux

package main

import "testing"

// disk stands in for the small disk that tests use on Linux. Other systems have none.
type disk struct{}

func smallDisk(testing.TB, string, int) *disk { return nil }

func (*disk) fill(int64) {}

func (*disk) empty() {}
