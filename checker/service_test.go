package checker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestAServiceIsWhatItsRowSays checks that judgments and explanations depend on a service's properties and not on its
// name. It judges each service's histories a second time, as histories of a made-up service of the same kind.
// Everything except the advice, which names products, must be the same.
func TestAServiceIsWhatItsRowSays(t *testing.T) {
	compared := map[history.Service]int{}
	for _, s := range []history.Service{history.Etcd, history.ZooKeeper, history.Kubernetes} {
		k := s.Kind()
		k.Name = "made-up-" + s
		history.RegisterService(k)
	}
	files, err := filepath.Glob("testdata/laws/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range lawCases(t, string(text)) {
			h := fromLog(t, c.history)
			is := h.Header.Service
			if !slices.Contains([]history.Service{history.Etcd, history.ZooKeeper, history.Kubernetes}, is) {
				continue
			}
			compared[is]++
			want := Check(h)
			h.Header.Service = "made-up-" + is
			got := Check(h)
			for i := range want.Findings {
				a, b := &want.Findings[i], &got.Findings[i]
				if a.Outcome != b.Outcome || a.Cause != b.Cause || a.Explanation != b.Explanation {
					t.Errorf("%s, %s, as %s:\n%v: %v: %s\nas %s:\n%v: %v: %s", file, c.name, is, a.Outcome, a.Cause,
						a.Explanation, h.Header.Service, b.Outcome, b.Cause, b.Explanation)
				}
			}
		}
	}
	if len(compared) != 3 {
		t.Errorf("histories of the services: %v", compared)
	}
}
