package process

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// Release is a version of a program: {7, 0} means 7.0.
type Release [2]int

// ErrOld reports that a program is too old.
var ErrOld = errors.New("its version is too old")

// Says runs a command that prints a program's version, and returns the version. The output must match the given
// pattern, whose two groups capture the version numbers. The error wraps [ErrOld] if the version is older than oldest.
func Says(pattern *regexp.Regexp, oldest Release, command ...string) (r Release, err error) {
	text, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	found := pattern.FindStringSubmatch(string(text))
	if err != nil || found == nil {
		return r, fmt.Errorf("%s does not print its version: it prints %.60q", strings.Join(command, " "), text)
	}
	r[0], _ = strconv.Atoi(found[1])
	r[1], _ = strconv.Atoi(found[2])
	if r[0] < oldest[0] || r[0] == oldest[0] && r[1] < oldest[1] {
		return r, fmt.Errorf("%s has version %d.%d: %w: %d.%d or later is needed", command[0], r[0], r[1], ErrOld,
			oldest[0], oldest[1])
	}
	return r, nil
}
