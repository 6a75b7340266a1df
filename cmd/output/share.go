package output

// This file determines which share of the seeds this machine runs. The share comes from the flag --shard, or from
// environment variables set by a test runner or job scheduler.

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/safefile"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// The environment variables in which test runners specify this process's share of the work.
const (
	bazelIndex  = "TEST_SHARD_INDEX" // counts from 0 (Bazel's test encyclopedia)
	bazelTotal  = "TEST_TOTAL_SHARDS"
	bazelStatus = "TEST_SHARD_STATUS_FILE"
	// zero-based index of the share in a Kubernetes Indexed Job; Kubernetes does not say how many shares there are
	jobIndex = "JOB_COMPLETION_INDEX"
)

// Usage is the usage text for the flag --shard.
var Usage = fmt.Sprintf("run only share `I/N` of the seeds, such as 2/5, for a later merge; /5 takes I from $%s; "+
	"without the flag, $%s and $%s apply", jobIndex, bazelIndex, bazelTotal)

// Of parses the flag's value. If the value is empty, it reads the share from a test runner's environment variables.
func Of(flag string) (search.Shard, error) {
	index, total := os.Getenv(bazelIndex), os.Getenv(bazelTotal)
	switch {
	case strings.HasPrefix(flag, "/"):
		of, err := countFromZero(jobIndex, os.Getenv(jobIndex))
		if err != nil {
			return search.Shard{}, fmt.Errorf("--shard %s takes the number of the shard from the environment: "+
				"%w", flag, err)
		}
		return parseShard(of + flag)
	case flag != "":
		return parseShard(flag)
	case index == "" && total == "":
		return search.Whole, nil
	case total == "":
		return search.Shard{}, fmt.Errorf("%s is set, but %s is not", bazelIndex, bazelTotal)
	}
	of, err := countFromZero(bazelIndex, index)
	if err != nil {
		return search.Shard{}, err
	}
	shard, err := search.ParseShard(of + "/" + total)
	if err != nil {
		return shard, fmt.Errorf("%s and %s: %w", bazelIndex, bazelTotal, err)
	}
	return shard, touch(os.Getenv(bazelStatus))
}

func parseShard(text string) (search.Shard, error) {
	shard, err := search.ParseShard(text)
	if err != nil {
		return shard, fmt.Errorf("--shard: %w", err)
	}
	return shard, nil
}

// countFromZero converts a zero-based index to a one-based index.
func countFromZero(name, text string) (string, error) {
	i, err := strconv.Atoi(text)
	switch {
	case text == "":
		return "", fmt.Errorf("%s is not set", name)
	case err != nil || i < 0:
		return "", fmt.Errorf("%s is %q, but must be a whole number, 0 or greater", name, text)
	}
	return strconv.Itoa(i + 1), nil
}

// touch creates a file that tells Bazel that the program supports shards.
func touch(file string) error {
	if file == "" {
		return nil
	}
	if err := safefile.Append(file, nil); err != nil {
		return fmt.Errorf("%s: %w", bazelStatus, err)
	}
	return nil
}
