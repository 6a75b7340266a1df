package scenarios

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/reports/text"
)

// Origin says where the clients' code comes from if it is not the scenario's own protocol. It is either a program or a
// test in a Go package. The zero value names neither.
type Origin struct {
	Client  string `json:"client,omitempty"`  // the command that starts the program, without passwords
	Package string `json:"package,omitempty"` // the import path of the test's package
	Test    string `json:"test,omitempty"`
	Folder  string `json:"folder,omitempty"` // the package's folder, as the user named it
}

// Same reports whether two origins name the same code. The package may be in another folder on another machine.
func (o Origin) Same(other Origin) bool {
	o.Folder, other.Folder = "", ""
	return o == other
}

// String names the code, for error messages.
func (o Origin) String() string {
	switch {
	case o.Client != "":
		return "the program " + text.ShellWord(o.Client)
	case o.Test != "":
		return fmt.Sprintf("the test %s of the Go package %s", o.Test, o.Package)
	}
	return "the scenario's own protocol"
}

// Origin returns where the code of s's clients comes from.
func (s *Scenario) Origin() Origin {
	if s.code == nil {
		return Origin{}
	}
	return s.code.Origin
}
