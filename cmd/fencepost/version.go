package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/reports"
)

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the revision it was built from, and Go's",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			info, known := debug.ReadBuildInfo()
			if !known {
				info = &debug.BuildInfo{}
			}
			return tellVersion(c.OutOrStdout(), versionIn(info), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, jsonUsage)
	return c
}

func tellVersion(w io.Writer, v reports.Version, asJSON bool) error {
	if asJSON {
		return printed(w)(reports.VersionJSON(&v))
	}
	fmt.Fprintf(w, "fencepost %s\n", v.Version)
	if v.Revision != "" {
		changed := ""
		if v.Modified {
			changed = ", with changes"
		}
		fmt.Fprintf(w, "revision  %s of %s%s\n", v.Revision, v.Time, changed)
	} else {
		fmt.Fprintln(w, "revision  not recorded: go build and go install record it")
	}
	_, err := fmt.Fprintf(w, "built by  %s\n", v.Go)
	return err
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
