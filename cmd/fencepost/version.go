package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// undated is a build's version if the go command found neither a tag nor a commit for it.
const undated = "(devel)"

// builtFrom describes the source from which the program was built.
type builtFrom struct {
	document.Head
	Module   string `json:"module"`
	Version  string `json:"version"`
	Revision string `json:"revision"` // commit hash; empty if the build did not record it
	Time     string `json:"time"`     // time of the commit, in RFC 3339
	Modified bool   `json:"modified"` // whether the work tree had uncommitted changes
	Go       string `json:"go"`       // version of the Go tool chain
}

// lines describes the build in lines of text.
func (b *builtFrom) lines() document.Lines {
	revision := "not recorded; build in a clone of the repository to record it"
	switch {
	case b.Revision == "" && b.Version != undated:
		revision = "the commit of that version"
	case b.Revision != "":
		revision = b.Revision + " of " + b.Time
		if b.Modified {
			revision += ", with changes"
		}
	}
	return document.Lines{"fencepost " + b.Version, "revision  " + revision, "built by  " + b.Go}
}

func (b *builtFrom) document() *document.Document {
	return &document.Document{Data: b, Body: []document.Block{b.lines()}}
}

func newVersion() *cobra.Command {
	f := output.Frame{}
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, its revision, and the version of Go",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return f.Show(ownBuild().document()) },
	}
	f.RegisterJSON(c)
	return c
}

// ownBuild returns what this program was built from.
func ownBuild() *builtFrom {
	info, known := debug.ReadBuildInfo()
	if !known {
		info = &debug.BuildInfo{}
	}
	return buildOf(info)
}

// buildOf describes the build, based on the information that the go command embedded in the program.
func buildOf(info *debug.BuildInfo) *builtFrom {
	b := &builtFrom{Module: info.Main.Path, Version: info.Main.Version, Go: info.GoVersion}
	if b.Version == "" {
		b.Version = undated
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
