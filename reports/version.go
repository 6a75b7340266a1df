package reports

import (
	"fmt"
	"io"

	"github.com/fencepost-sim/fencepost/reports/report"
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

// Text tells it in a few lines. The error is w's.
func (v Version) Text(w io.Writer, _ report.TextOptions) error {
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

// JSON gives it as one JSON object, ended by a newline.
func (v Version) JSON(command string) ([]byte, error) {
	return report.Encode(struct {
		report.Head
		Version
	}{report.HeadOf(command), v})
}
