package main

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
)

// The command that repeats a verification in one process has every flag that affects what is tried.
func TestTheCommandThatVerifiesAgainTriesTheSame(t *testing.T) {
	t.Parallel()
	for _, flag := range given["verify"] {
		values := map[string][]string{"bool": {"true", "false"}, "int": {"2"}, "uint64": {"7"},
			"duration": {"1s"}}[flagType(flag)]
		if len(values) == 0 {
			t.Errorf("no value of type %s for --%s", flagType(flag), flag)
		}
		for _, value := range values {
			var r request
			c := &cobra.Command{}
			r.register(c)
			if err := c.Flags().Parse([]string{"--" + flag + "=" + value}); err != nil {
				t.Fatal(err)
			}
			want := output.Program() + " verify a-lock"
			switch {
			case flag == "until-time":
			case value == "true":
				want += " --" + flag
			case value == "false":
				want += " --" + flag + "=false"
			default:
				want += " --" + flag + " " + value
			}
			if got := r.repeat(c, "a-lock"); got != want {
				t.Errorf("--%s=%s: %s, want %s", flag, value, got, want)
			}
		}
	}
}

func flagType(name string) string {
	var r request
	c := &cobra.Command{}
	r.register(c)
	return c.Flags().Lookup(name).Value.Type()
}
