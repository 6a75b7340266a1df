package output

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencepost-sim/fencepost/reports/text"
)

// OnlyBeside returns an error if the user has set a flag other than mode and the flags in beside. It is called if the
// flag mode is set, which makes the command do something to which the other flags do not apply.
func OnlyBeside(c *cobra.Command, mode string, beside ...string) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Name != mode && !slices.Contains(beside, f.Name) {
			err = fmt.Errorf("--%s cannot be used with --%s\nsee: %s -h", f.Name, mode, c.CommandPath())
		}
	})
	return err
}

// Given returns the named flags that the user has set, as words for an equivalent command line.
func Given(flags *pflag.FlagSet, names ...string) (words []string) {
	for _, name := range names {
		f := flags.Lookup(name)
		value := f.Value.String()
		if list, is := f.Value.(pflag.SliceValue); is {
			value = strings.Join(list.GetSlice(), ",")
		}
		switch {
		case !f.Changed:
		case f.Value.Type() == "bool" && value == "true":
			words = append(words, "--"+name)
		case f.Value.Type() == "bool": // as a separate word, the value would be an argument
			words = append(words, "--"+name+"="+value)
		default:
			words = append(words, "--"+name, text.ShellWord(value))
		}
	}
	return words
}

// count implements pflag.Value for a whole number in a range.
type count struct {
	n           *int
	least, most int
	takes       string // describes the range
}

// Count registers a flag for a whole number in the given range. If the upper end of the range is 0, there is no upper
// limit.
func Count(c *cobra.Command, n *int, name string, standard, least, most int, usage string) {
	takes := fmt.Sprintf("at least %d", least)
	if most > 0 {
		takes = fmt.Sprintf("%d to %d", least, most)
	} else {
		most = math.MaxInt
	}
	*n = standard
	c.Flags().Var(&count{n, least, most, takes}, name, usage)
}

// mostWorkers is the maximum for --workers. No machine has that many cores, but it is still possible to start that many
// processes.
const mostWorkers = 4096

// Workers registers the --workers flag. usage says what the workers do. The default is one worker per core.
func Workers(c *cobra.Command, n *int, usage string) {
	takes := fmt.Sprintf("1 to %d", mostWorkers)
	c.Flags().Var(&count{n, 0, mostWorkers, takes}, "workers", usage+" (default: one a core)")
}

// String returns the number.
func (v *count) String() string { return strconv.Itoa(*v.n) }

// Type returns the value's type. Error messages use it to say what the flag accepts.
func (v *count) Type() string { return "int" }

// Set parses the number. It returns a rangeError if the number is out of range.
func (v *count) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	if err != nil {
		return err
	}
	if n < int64(v.least) || n > int64(v.most) {
		return rangeError(fmt.Sprintf("must be %s, not %d", v.takes, n))
	}
	*v.n = int(n)
	return nil
}

// rangeError is the error for a number that is out of range; it says what the range is.
type rangeError string

// Error returns the permitted range. It does not contain the flag's name.
func (e rangeError) Error() string { return string(e) }
