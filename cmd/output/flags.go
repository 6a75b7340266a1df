package output

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// OnlyBeside refuses a flag of the call that has no meaning beside another, which gives the command other work.
func OnlyBeside(c *cobra.Command, mode string, beside ...string) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Name != mode && !slices.Contains(beside, f.Name) {
			err = fmt.Errorf("--%s does not go with --%s\nsee: %s -h", f.Name, mode, c.CommandPath())
		}
	})
	return err
}

// mostWorkers is more than any machine has cores, and few enough to be started.
const mostWorkers = 4096

// CheckWorkers refuses an impossible number of workers; 0 is one a core.
func CheckWorkers(n int) error {
	if n < 0 || n > mostWorkers {
		return fmt.Errorf("--workers must be 1 to %d, not %d", mostWorkers, n)
	}
	return nil
}
