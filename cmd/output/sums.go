package output

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

	"github.com/fencepost-sim/fencepost/checker/safefile"
)

// sums records which files in a folder belong to this program: those with content that the program wrote. The checksums
// are stored in a file that sha256sum -c can read. While a file is being replaced or removed, its old and new checksums
// are in comments. So even if the program is killed, every checksum that sha256sum checks is right.
type sums struct {
	command  string
	of       map[string][]string // SHA-256 sums by file name; for an unsteady file, each sum that it may have
	unsteady map[string]bool     // files that are being replaced or removed
}

const (
	sumsTitle   = "# left by fencepost "
	unsteadySum = "# perhaps: "
)

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func (s *sums) add(name, sum string) {
	if !slices.Contains(s.of[name], sum) {
		s.of[name] = append(s.of[name], sum)
	}
}

// settle records the checksum of a file that will no longer change.
func (s *sums) settle(name, sum string) {
	s.of[name] = []string{sum}
	delete(s.unsteady, name)
}

// unsettle records that a file is about to be replaced or removed. before and after are its old and new contents; nil
// means that there is no file.
func (s *sums) unsettle(name string, before, after []byte) {
	s.of[name] = nil
	for _, content := range [][]byte{before, after} {
		if content != nil {
			s.add(name, sumOf(content))
		}
	}
	s.unsteady[name] = true
}

func (s *sums) names() []string { return slices.Sorted(maps.Keys(s.of)) }

func (s *sums) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s, which overwrites and removes these files as long as they are unchanged, and no others\n",
		sumsTitle, s.command)
	for _, name := range s.names() {
		for _, sum := range s.of[name] {
			if s.unsteady[name] {
				b.WriteString(unsteadySum)
			}
			fmt.Fprintf(&b, "%s  %s\n", sum, name)
		}
	}
	return b.Bytes()
}

// readSums reads the checksums that sums.encode has written to a folder. If the folder does not have such a file, the
// result is empty.
func readSums(folder *safefile.Folder) (sums, error) {
	s := sums{of: map[string][]string{}, unsteady: map[string]bool{}}
	text, err := folder.Read(sumsFile)
	if text == nil || err != nil {
		return s, err
	}
	damaged := fmt.Errorf("%s is damaged or was not written by fencepost: remove it, or name another folder with --out",
		filepath.Join(folder.Name(), sumsFile))
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if title, ok := strings.CutPrefix(line, sumsTitle); ok && s.command == "" {
			s.command, _, _ = strings.Cut(title, ",")
			continue
		}
		line, unsteady := strings.CutPrefix(line, unsteadySum)
		sum, name, ok := strings.Cut(line, "  ")
		if digits, err := hex.DecodeString(sum); !ok || err != nil || len(digits) != sha256.Size || s.command == "" ||
			!filepath.IsLocal(filepath.FromSlash(name)) {
			return s, damaged
		}
		s.add(name, sum)
		if unsteady {
			s.unsteady[name] = true
		}
	}
	if lines.Err() != nil || s.command == "" {
		return s, damaged
	}
	return s, nil
}
