package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
)

var entryOfLog = regexp.MustCompile(`(?m)^## (v\S+), (not yet released|\d{4}-\d\d-\d\d)$`)

// TestTheChangeLogNamesEachVersion checks the change log. Its entries must be in version order, only the newest may be
// unreleased, and every version with a tag must have an entry. The change log must name the JSON schema of the
// commands' output.
func TestTheChangeLogNamesEachVersion(t *testing.T) {
	text := readFrom(t, ".github/CHANGELOG.md")
	var versions, dates []string
	for _, entry := range entryOfLog.FindAllStringSubmatch(text, -1) {
		versions, dates = append(versions, entry[1]), append(dates, entry[2])
	}
	if len(versions) == 0 || len(versions) != strings.Count(text, "\n## v") {
		t.Fatalf("of %d entries these can be read: %v", strings.Count(text, "\n## v"), versions)
	}
	for i, v := range versions {
		if !semver.IsValid(v) || semver.Prerelease(v)+semver.Build(v) != "" {
			t.Errorf("%s is no version of a release", v)
		}
		if i > 0 && (semver.Compare(v, versions[i-1]) >= 0 || dates[i] == "not yet released" ||
			cmp.Compare(dates[i], dates[i-1]) > 0) {
			t.Errorf("%s of %s follows %s of %s", v, dates[i], versions[i-1], dates[i-1])
		}
	}
	for _, tag := range tags(t) {
		if i := slices.Index(versions, tag); i < 0 || dates[i] == "not yet released" {
			t.Errorf("the tag %s has no entry with a date", tag)
		}
	}
	data := struct{ document.Head }{}
	made, err := (&document.Document{Data: &data}).JSON("run")
	if err != nil || json.Unmarshal(made, &data) != nil || !strings.Contains(text, "`"+data.Schema+"`") {
		t.Errorf("the schema %q is not named (%v)", data.Schema, err)
	}
}

// tags lists the versions that have tags in the clone. The list is empty if the files are not in a clone.
func tags(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "tag", "--list", "v*").Output()
	if err != nil {
		t.Log("git lists no tags: ", err)
	}
	return strings.Fields(string(out))
}

// TestTheModuleCanBeInstalledByItsPath checks for everything that go install PATH@VERSION rejects: replaced modules,
// and file names that some systems do not allow.
func TestTheModuleCanBeInstalledByItsPath(t *testing.T) {
	if m := regexp.MustCompile(`(?m)^(replace|exclude)\b.*`).FindString(readFrom(t, "go.mod")); m != "" {
		t.Errorf("go.mod: %s", m)
	}
	files, err := zip.CheckDir("../..")
	for _, f := range files.Invalid {
		t.Errorf("%s: %v", f.Path, f.Err)
	}
	if err != nil && len(files.Invalid) == 0 && files.SizeError == nil || len(files.Valid) < 1000 {
		t.Errorf("%d files: %v", len(files.Valid), err)
	}
}

// TestEveryModuleGetsUpdates checks that dependabot looks at every go.mod, and that its configuration names only
// folders that exist.
func TestEveryModuleGetsUpdates(t *testing.T) {
	var config struct {
		Updates []struct {
			Of          string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
		}
	}
	if err := yaml.Unmarshal([]byte(readFrom(t, ".github/dependabot.yml")), &config); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"gomod": "go.mod", "npm": "package-lock.json", "docker": "Dockerfile",
		"github-actions": ".github/workflows/locks.yml"}
	var modules []string
	for _, u := range config.Updates {
		for _, dir := range append(u.Directories, u.Directory) {
			if dir == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", dir, files[u.Of])); err != nil || files[u.Of] == "" {
				t.Errorf("%s: %v", u.Of, err)
			}
			if u.Of == "gomod" && dir != "/" {
				modules = append(modules, strings.TrimPrefix(dir, "/"))
			}
		}
	}
	slices.Sort(modules)
	if want := slices.Sorted(slices.Values(nested)); !slices.Equal(modules, want) {
		t.Errorf("modules %v are updated, and there are %v", modules, want)
	}
}

// TestIssueFormsAreComplete checks that each issue form has everything that GitHub requires. GitHub does not show an
// incomplete form.
func TestIssueFormsAreComplete(t *testing.T) {
	forms, err := filepath.Glob("../../.github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(forms) < 3 {
		t.Fatal(forms, err)
	}
	for _, path := range forms {
		var form struct {
			Name, Description string
			Body              []struct {
				Type       string
				Attributes struct{ Label string }
			}
			Links []struct{ Name, URL, About string } `yaml:"contact_links"`
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &form); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, l := range form.Links {
			if l.Name == "" || l.URL == "" || l.About == "" {
				t.Errorf("%s: the link %+v is not complete", path, l)
			}
		}
		if filepath.Base(path) == "config.yml" {
			continue
		}
		if form.Name == "" || form.Description == "" || len(form.Body) == 0 {
			t.Errorf("%s has no name, description or body", path)
		}
		labels := map[string]bool{}
		for _, field := range form.Body {
			if label := field.Attributes.Label; field.Type == "" || label == "" || labels[label] {
				t.Errorf("%s: the field %+v has no type, or no label of its own", path, field)
			}
			labels[field.Attributes.Label] = true
		}
	}
}

// TestTheFolderOfAGoCommandStandsFirst checks that -C is the first flag in each go command, because go rejects it in
// any other position.
func TestTheFolderOfAGoCommandStandsFirst(t *testing.T) {
	behind := regexp.MustCompile(`\bgo (build|install|run|test|vet) [^-\n&|;]*-[^C\n&|;][^\n&|;]* -C .*`)
	first := 0
	for _, file := range append(commandFiles(t), "cmd/fencepost-campaign/kubernetes/Dockerfile") {
		text := readFrom(t, file)
		for _, command := range behind.FindAllString(text, -1) {
			t.Errorf("%s: %s", file, command)
		}
		first += len(regexp.MustCompile(`\bgo \w+ -C `).FindAllString(text, -1))
	}
	if first < 4 {
		t.Errorf("only %d commands with -C were seen", first)
	}
}

var targetOfMake = regexp.MustCompile(`(?m)^([a-z]+): #`)

// TestTheMakefileHasWhatItsGuideNames checks that each Makefile target is declared and that the guide names it.
func TestTheMakefileHasWhatItsGuideNames(t *testing.T) {
	text, guide := readFrom(t, ".ci/Makefile"), readFrom(t, ".github/CONTRIBUTING.md")
	_, phony, _ := strings.Cut(text, "\n.PHONY: ")
	phony, _, _ = strings.Cut(phony, "\n")
	var targets []string
	for _, m := range targetOfMake.FindAllStringSubmatch(text, -1) {
		if targets = append(targets, m[1]); !strings.Contains(guide, "`"+m[1]+"`") {
			t.Errorf("the guide does not name %s", m[1])
		}
	}
	if len(targets) == 0 || !slices.Equal(targets, strings.Fields(phony)) {
		t.Errorf("targets %v, declared %s", targets, phony)
	}
}

// TestAReleaseIsBuilt builds the release archive for this platform. It checks that the archive contains the programs,
// and that fencepost's bill of materials lists every module recorded in the program.
func TestAReleaseIsBuilt(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "bash", "tar", "awk", "sha256sum", "git")
	dir, system := t.TempDir(), runtime.GOOS+"/"+runtime.GOARCH
	if out, err := exec.Command("bash", "../../.ci/release", dir, system).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "fencepost_*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	files := unpacked(t, archives[0])
	for _, name := range []string{"fencepost", "fencepost-campaign", "fencepost-campaign.cdx.json", "LICENSE",
		"CHANGELOG.md"} {
		if len(files[name]) == 0 {
			t.Errorf("the archive has no %s", name)
		}
	}
	info, err := buildinfo.Read(strings.NewReader(string(files["fencepost"])))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"stdlib " + strings.TrimPrefix(runtime.Version(), "go")}
	for _, m := range info.Deps {
		want = append(want, m.Path+" "+m.Version)
	}
	var bill struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(files["fencepost.cdx.json"], &bill); err != nil || bill.BOMFormat != "CycloneDX" {
		t.Fatal(bill.BOMFormat, err)
	}
	var got []string
	for _, c := range bill.Components {
		got = append(got, c.Name+" "+c.Version)
	}
	if !slices.Equal(got, want) {
		t.Errorf("it lists %q, want %q", got, want)
	}
}

// unpacked returns the content of each file in an archive, keyed by the file's path in the archive's top folder.
func unpacked(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[filepath.Base(h.Name)], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
