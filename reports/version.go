package reports

import (
	"fmt"
	"io"

	"github.com/fencepost-sim/fencepost/reports/document"
)

// Version is what the program was built from.
type Version struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the commit; empty if the build did not record it
	Time     string `json:"time"`     // of the commit, in RFC 3339
	Modified bool   `json:"modified"` // the work tree had changes
	Go       string `json:"go"`       // the version of the tool chain
}

// Text writes it. The error is w's.
func (v Version) Text(w io.Writer, _ document.TextOptions) error {
	_, err := io.WriteString(w, v.String())
	return err
}

// String says it in a few lines.
func (v Version) String() string {
	revision := "not recorded: go build and go install record it"
	if v.Revision != "" {
		revision = v.Revision + " of " + v.Time
		if v.Modified {
			revision += ", with changes"
		}
	}
	return fmt.Sprintf("fencepost %s\nrevision  %s\nbuilt by  %s\n", v.Version, revision, v.Go)
}

// JSON gives it as one JSON object, ended by a newline.
func (v Version) JSON(command string) ([]byte, error) {
	return document.Encode(struct {
		document.Head
		Version
	}{document.HeadOf(command), v})
}
