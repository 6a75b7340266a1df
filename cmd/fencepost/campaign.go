package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
)

// campaignProgram is the name of the program that runs campaigns. It is in a separate module, so that building
// fencepost does not compile its dependencies.
const campaignProgram = "fencepost-campaign"

func newCampaign() *cobra.Command {
	return &cobra.Command{
		Use:   "campaign COMMAND",
		Short: "Divide a search among any number of machines, with one report",
		Long: `Runs the separate program fencepost-campaign, which divides the work of explore, verify, sweep,
advise, compare and corpus among any number of processes on any machines, and makes one report.
Install it from a clone of the repository:

  go install -C cmd/fencepost-campaign`,
		Example: `  fencepost campaign run my-lock.yaml --seeds 1000000
  fencepost campaign work --nats nats://queue:4222`,
		DisableFlagParsing: true,
		ValidArgsFunction:  cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			path, err := findCampaign()
			if err != nil {
				if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
					return c.Help()
				}
				return err
			}
			return become(path, args)
		},
	}
}

// findCampaign looks for the program in this program's folder, and then in PATH.
func findCampaign() (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), campaignProgram)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(campaignProgram)
	if err != nil {
		return "", fmt.Errorf("%s is not installed; run this in a clone of the repository: "+
			`go install -C cmd/%[1]s`, campaignProgram)
	}
	return path, nil
}

// become replaces this process with the program. On systems where a process cannot be replaced, it runs the program and
// exits with the program's exit code.
func become(path string, args []string) error {
	if runtime.GOOS != "windows" {
		return fmt.Errorf("%s: %w", path, syscall.Exec(path, append([]string{path}, args...), os.Environ()))
	}
	c := exec.Command(path, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		os.Exit(ended.ExitCode())
	}
	return err
}
