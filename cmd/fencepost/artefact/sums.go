package artefact

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// sums say which files in a folder are this program's: those that hold what it has written. They stand in a file that
// sha256sum -c reads.
type sums struct {
	command string
	of      map[string][]string // SHA-256 by name; two while a file is replaced: the old one, then the new
}

const sumsTitle = "# left by fencepost "

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func (s *sums) add(name, sum string) {
	if !slices.Contains(s.of[name], sum) {
		s.of[name] = append(s.of[name], sum)
	}
}

func (s *sums) names() []string { return slices.Sorted(maps.Keys(s.of)) }

func (s *sums) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s, which overwrites and removes these files as long as they are unchanged, and no others\n",
		sumsTitle, s.command)
	for _, name := range s.names() {
		for _, sum := range s.of[name] {
			fmt.Fprintf(&b, "%s  %s\n", sum, name)
		}
	}
	return b.Bytes()
}

// readSums reads what encode wrote; none if there is no such file.
func readSums(path string) (sums, error) {
	s := sums{of: map[string][]string{}}
	text, err := readRegular(path)
	if text == nil || err != nil {
		return s, err
	}
	damaged := fmt.Errorf("%s is damaged, or not fencepost's: remove it, or name another folder with --out", path)
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if title, ok := strings.CutPrefix(line, sumsTitle); ok && s.command == "" {
			s.command, _, _ = strings.Cut(title, ",")
			continue
		}
		sum, name, ok := strings.Cut(line, "  ")
		if digits, err := hex.DecodeString(sum); !ok || err != nil || len(digits) != sha256.Size || s.command == "" ||
			!filepath.IsLocal(filepath.FromSlash(name)) {
			return s, damaged
		}
		s.add(name, sum)
	}
	if lines.Err() != nil || s.command == "" {
		return s, damaged
	}
	return s, nil
}
