package output

import (
	"os"
	"strings"
)

// Program is the name by which this program was called. go run starts it from the build cache.
func Program() string {
	cache := os.Getenv("GOCACHE")
	if strings.Contains(os.Args[0], "go-build") || cache != "" && strings.HasPrefix(os.Args[0], cache) {
		return "go run ./cmd/fencepost"
	}
	return "fencepost"
}

// Word quotes a word for a shell if it needs to be.
func Word(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
