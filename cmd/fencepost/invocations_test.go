package main

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An invocation is a go test command in a document, script or comment.
type invocation struct {
	text string
	// packages relative to the repository's root, such as checker/linear, or sim/... for sim and all packages inside
	// it; if empty, any package
	packages []string
	patterns []string // the patterns of tests, benchmarks and fuzz tests that it selects or skips
}

var (
	goTest        = regexp.MustCompile("\\bgo test((?:[ \t]+(?:'[^'\n]*'|[^\\s'\"`()&;<>]+))+)")
	goTestInCode  = regexp.MustCompile(`(?m)^//\t(?:[A-Z_]+=\S+ )*go test .*$`)
	changesFolder = regexp.MustCompile(`\bcd ([\w./-]+) &&`)
	ownVariable   = regexp.MustCompile(`\bFENCEPOST_[A-Z]+`)
	nameOfTest    = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w*`)
	testShown     = regexp.MustCompile(`(?m)^ *func (Test\w+)\(`)
)

// invocations returns the go test commands in a file's text. file is the file's path in the repository. A command that
// selects tests but does not name a package runs the tests in the file's folder and all folders below it. Commands in a
// "findings" folder are meant for the folder above it.
func invocations(file, text string) (all []invocation) {
	text = strings.NewReplacer("\\\n", " ", `\|`, "|").Replace(text)
	for _, at := range goTest.FindAllStringSubmatchIndex(text, -1) {
		i := invocation{text: file + ": " + text[at[0]:at[1]]}
		words, in := strings.Fields(text[at[2]:at[3]]), folderOf(file, text[:at[0]])
		for n, w := range words {
			if folder, ok := strings.CutPrefix(w, "./"); ok {
				i.packages = append(i.packages, path.Join(in, folder))
			}
			if n == 0 || !slices.Contains([]string{"-run", "-skip", "-bench", "-fuzz"}, words[n-1]) {
				continue
			}
			if names, _, _ := strings.Cut(strings.Trim(w, "'"), "/"); names != "^$" && names != "xxx" {
				i.patterns = append(i.patterns, names)
			}
		}
		if len(i.packages) == 0 && len(i.patterns) > 0 {
			i.packages = []string{path.Join(strings.TrimSuffix(path.Dir(file), "/findings"), "...")}
		}
		all = append(all, i)
	}
	return all
}

// folderOf returns the folder in which a command runs. before is the file's text before the command. If there is a cd
// before the command on the same line, this is the folder named there. Otherwise, if the command is in a nested
// module's file, it is that module's folder.
func folderOf(file, before string) string {
	line := before[strings.LastIndex(before, "\n")+1:]
	if gone := changesFolder.FindAllStringSubmatch(line, -1); gone != nil {
		return gone[len(gone)-1][1]
	}
	for _, module := range nested {
		if strings.HasPrefix(file, module+"/") {
			return module
		}
	}
	return ""
}

// testsIn returns all tests in the packages that match a go test argument. tests contains each package's tests.
func testsIn(argument string, tests map[string][]string) (names []string) {
	below, all := strings.CutSuffix(argument, "...")
	for room, of := range tests {
		if room == argument || all && strings.HasPrefix(room+"/", strings.TrimPrefix(below, "./")) {
			names = append(names, of...)
		}
	}
	return names
}

// TestCommandsNameWhatThereIs reads documents, scripts, workflows and the commands in comments, and checks that the
// packages, tests and variables that they name exist. A command with a wrong name would not run anything, and would
// pass.
func TestCommandsNameWhatThereIs(t *testing.T) {
	tests, literals := map[string][]string{}, map[string]bool{}
	called, words := []invocation{}, map[string]string{} // words in documents and scripts, with the file that has them
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if s.test && nameOfTest.MatchString(n.Name.Name) {
					tests[s.room] = append(tests[s.room], n.Name.Name)
				}
			case *ast.BasicLit:
				if ownVariable.MatchString(n.Value) {
					literals[ownVariable.FindString(n.Value)] = true
				}
			}
			return true
		})
		for _, line := range goTestInCode.FindAllString(readFrom(t, s.path), -1) {
			called = append(called, invocations(s.path, line)...)
		}
	}
	every := testsIn("...", tests)
	for _, file := range commandFiles(t) {
		text := readFrom(t, file)
		called = append(called, invocations(file, text)...)
		for _, test := range testShown.FindAllStringSubmatch(text, -1) { // a test in a user's package
			every = append(every, test[1])
			for room := range tests {
				tests[room] = append(tests[room], test[1])
			}
		}
		for _, w := range slices.Concat(nameOfTest.FindAllString(text, -1), ownVariable.FindAllString(text, -1)) {
			words[w] = file
		}
	}
	for word, file := range words {
		begins := func(test string) bool { return strings.HasPrefix(test, word) }
		if !literals[word] && !slices.ContainsFunc(every, begins) {
			t.Errorf("%s names %s, which there is not", file, word)
		}
	}
	checked := 0
	for _, i := range called {
		checked += len(i.patterns)
		for _, problem := range i.problems(t, tests) {
			t.Errorf("%s: %s", i.text, problem)
		}
	}
	if checked < 100 || len(words) < 20 {
		t.Errorf("%d patterns and %d words were checked", checked, len(words))
	}
}

// problems returns the packages without tests, and the patterns that do not select a test.
func (i *invocation) problems(t *testing.T, tests map[string][]string) (list []string) {
	var all []string
	for _, argument := range i.packages {
		if argument == "PACKAGE" { // a placeholder for any package
			continue
		}
		of := testsIn(argument, tests)
		if all = append(all, of...); len(of) == 0 {
			list = append(list, argument+" has no tests")
		}
		for _, pattern := range i.patterns {
			if !slices.ContainsFunc(of, regexp.MustCompile(pattern).MatchString) {
				list = append(list, pattern+" selects nothing in "+argument)
			}
		}
	}
	for _, pattern := range i.patterns {
		for one := range strings.SplitSeq(pattern, "|") {
			if !slices.ContainsFunc(all, regexp.MustCompile(one).MatchString) {
				list = append(list, one+" selects nothing")
			}
		}
	}
	return list
}

// commandFiles lists the repository's documents, scripts and workflows, as paths relative to its root.
func commandFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{".ci/*", ".github/workflows/*"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	files = append(files, markdownFiles(t)...)
	for i, file := range files {
		files[i] = filepath.ToSlash(strings.TrimPrefix(file, filepath.FromSlash("../../")))
	}
	return files
}

// readFrom reads a file, given its path in the repository.
func readFrom(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
