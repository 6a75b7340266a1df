package output

import (
	"os"
	"strings"
)

// Program returns the command line that called this program. Under go run, the program is in the build cache.
func Program() string {
	cache := os.Getenv("GOCACHE")
	if strings.Contains(os.Args[0], "go-build") || cache != "" && strings.HasPrefix(os.Args[0], cache) {
		return "go run ./cmd/fencepost"
	}
	return "fencepost"
}

// Word quotes a word for a shell if necessary.
func Word(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
