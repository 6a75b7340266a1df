package scenarios

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

func yamlOf(t *testing.T, text string) *format.Document {
	t.Helper()
	d, err := format.ParseDocument("d.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Printing a scenario's document and parsing it again gives the same scenario.
func TestDocumentsPrintWhatTheyRead(t *testing.T) {
	for _, name := range testkit.Sample(t, Names()) {
		_, text, err := fileOf(name)
		if err != nil {
			t.Fatal(err)
		}
		printed := yamlOf(t, string(text)).String()
		s, err := Parse("printed.yaml", []byte(printed))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, printed)
		}
		if want := parseText(t, string(text)); !reflect.DeepEqual(withoutText(s), want) {
			t.Errorf("%s: another scenario was printed:\n%s", name, printed)
		}
		if again := yamlOf(t, printed).String(); again != printed {
			t.Errorf("%s: printed again as\n%s", name, again)
		}
	}
}

func TestDocumentsAreArrangedAsTheFormatIsDescribed(t *testing.T) {
	d := yamlOf(t, "expect: {ownership: holds}\nclients: 1\nlock: {ttl: 2s, protocol: fenced}\nservers: {redis: "+
		"1}\nname: x\n")
	d.Arrange(TopKeys())
	const want = "name: x\nservers: {redis: 1}\nclients: 1\nlock: {ttl: 2s, protocol: fenced}\nexpect:\n  ownership: " +
		"holds\n"
	if d.String() != want {
		t.Errorf("got\n%s\nwant\n%s", d, want)
	}
	last := -1
	for _, key := range TopKeys() {
		at := strings.Index(formatDoc(t), "\n| `"+key+"` |")
		if at < 0 {
			at = strings.Index(formatDoc(t), "\n| `"+key+".") // described part by part
		}
		if at < last {
			t.Errorf("FORMAT.md describes %s earlier", key)
		}
		last = at
	}
}
