package output

import (
	"os"
	"strings"
)

// Program returns the command that started this program, for use in printed commands. If the program is in the build
// cache, it was started by go run.
func Program() string {
	cache := os.Getenv("GOCACHE")
	if strings.Contains(os.Args[0], "go-build") || cache != "" && strings.HasPrefix(os.Args[0], cache) {
		return "go run ./cmd/fencepost"
	}
	return "fencepost"
}
