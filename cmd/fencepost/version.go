package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports"
)

func newVersion() *cobra.Command {
	f := output.Frame{}
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the revision it was built from, and Go's",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return f.Show(ownVersion()) },
	}
	f.RegisterJSON(c)
	return c
}

// ownVersion is that of this program.
func ownVersion() reports.Version {
	info, known := debug.ReadBuildInfo()
	if !known {
		info = &debug.BuildInfo{}
	}
	return versionIn(info)
}

// versionIn reads what the go command has recorded.
func versionIn(info *debug.BuildInfo) reports.Version {
	v := reports.Version{Module: info.Main.Path, Version: info.Main.Version, Go: info.GoVersion}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
