package task

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRecordsAreReadUpToALimit checks that a file of exactly the maximum size is read, and that a file with one more
// byte is rejected. If the size is known, the file must be rejected without being read. A device that never ends must
// be rejected, too.
func TestRecordsAreReadUpToALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	for _, text := range []string{"", "1234", "12345"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readRecord(path, 5); string(got) != text || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if err := os.WriteFile(path, []byte("123456"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, path, 5, "record is longer than 5 bytes")
	if runtime.GOOS != "windows" {
		refused(t, "/dev/zero", 5, "/dev/zero is longer than 5 bytes")
	}
}

// TestNoRecordOfAQuarterGigabyteIsRead checks that such a long record is rejected with an error that names the limit.
// The file is sparse, so it takes up no space.
func TestNoRecordOfAQuarterGigabyteIsRead(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, ExplorationFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(256<<20 + 1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadResult(dir, ExplorationFile); err == nil ||
		!strings.Contains(err.Error(), "is longer than 268435456 bytes") {
		t.Error(err)
	}
}

func refused(t *testing.T, path string, most int64, why string) {
	t.Helper()
	if got, err := readRecord(path, most); got != nil || err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestARecordOfAnotherKindIsRefused checks that a record is read under the file name for its own kind, and rejected
// under the file name for the other kind.
func TestARecordOfAnotherKindIsRefused(t *testing.T) {
	for _, kind := range []string{ExplorationFile, RunsFile} {
		text, err := os.ReadFile(filepath.Join("../../scenarios/search/testdata/before", kind))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{ExplorationFile, RunsFile} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadResult(dir, file)
			refused := err != nil && strings.Contains(err.Error(), "is a record of another kind")
			if refused != (file != kind) {
				t.Errorf("%s as %s: %v", kind, file, err)
			}
		}
	}
}
