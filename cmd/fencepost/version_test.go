package main

import (
	"bytes"
	"runtime/debug"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/document"
)

func TestVersionSaysWhatTheBuildHasRecorded(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.0",
		Main:      debug.Module{Path: "example.org/m", Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{
				Key:   "vcs.revision",
				Value: "0123abc",
			}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}},
	}
	for want, info := range map[string]*debug.BuildInfo{
		"fencepost v1.2.3\nrevision  0123abc of 2026-01-02T03:04:05Z, with changes\nbuilt by  go1.26.0\n": info,
		"fencepost (devel)\nrevision  not recorded; build in a clone of the repository to record it\nbuilt by  " +
			"go1\n": {GoVersion: "go1"},
		"fencepost v1.2.3\nrevision  the commit of that version\nbuilt by  go1\n": {GoVersion: "go1",
			Main: debug.Module{Version: "v1.2.3"}},
	} {
		var out bytes.Buffer
		if err := buildOf(info).document().Text(&out, document.TextOptions{}); err != nil || out.String() != want {
			t.Errorf("got %s, want %s", out.String(), want)
		}
	}
}
