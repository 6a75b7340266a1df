package output

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// FlagProblem returns an error that says what is wrong with a flag, and what to write instead or where to look.
func FlagProblem(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var outside rangeError
	if errors.As(err, &invalid) && errors.As(err, &outside) {
		return fmt.Errorf("--%s %s", invalid.GetFlag().Name, outside)
	}
	return fmt.Errorf("%s\nsee: %s -h", problem(c, err), c.CommandPath())
}

func problem(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return fmt.Sprintf("--%s needs %s, not %q", f.Name, flagValues(f.Value.Type()), invalid.GetValue())
	case errors.As(err, &unknown):
		var flags []string
		c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		if near := nearest.Word(unknown.GetSpecifiedName(), flags); near != "" {
			return fmt.Sprintf("%s (did you mean \"--%s\"?)", err, near)
		}
	}
	return err.Error()
}

// flagValues describes the values that a flag of the given type takes.
func flagValues(kind string) string {
	switch kind {
	case "uint64":
		return "a whole number from 0 to 18446744073709551615"
	case "int":
		return "a whole number"
	case "duration":
		return "a duration with its unit, such as 90s or 2m"
	case "bool":
		return "no value, or one of =true and =false"
	}
	return "text without unpaired quotes" // flags that take a list, which is parsed as CSV
}

// CheckArguments returns an error if an argument contains a character that nobody can see. This keeps such characters
// out of reports.
func CheckArguments(args []string) error {
	for i, arg := range args {
		if at := strings.IndexFunc(arg, history.Unprintable); at >= 0 {
			c, _ := utf8.DecodeRuneInString(arg[at:])
			return fmt.Errorf("argument %d, %q, has the %s", i+1, arg, history.NameUnprintable(c))
		}
	}
	return nil
}
