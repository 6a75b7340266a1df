package reading

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

const (
	asJSON = `{"time":5,"process":"process-0","type":"ok","f":"acquire","lock":"lock"}`
	asEDN  = `{:type :ok, :f :acquire, :process 0, :time 5}`
)

func TestBothFormsAreRead(t *testing.T) {
	for _, text := range []string{asJSON, "\n  " + asJSON + "\n", `{"header":{}}` + "\n" + asJSON, asEDN, "[" + asEDN + "]",
		"; a history\n(" + asEDN + ")", "#jepsen.history.Op" + asEDN} {
		f, err := Read("h", strings.NewReader(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		e := f.History.Events[0]
		if len(f.History.Events) != 1 || e.Time != 5 || e.Process != "process-0" || e.Lock != "lock" || f.Cut != "" ||
			f.Untimed {
			t.Errorf("%q: %+v", text, f)
		}
	}
	if f, err := Read("h", strings.NewReader(`{:type :ok, :f :acquire, :process 0}`)); err != nil || !f.Untimed {
		t.Errorf("%+v, %v", f, err)
	}
}

const arrayError = "line 1: a JSON array instead of JSON lines: write each event on its own line, without the " +
	"brackets and commas around them (jq -c '.[]' FILE does)"

func TestFilesThatAreNoHistoriesAreRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "h: line 1: the file contains no operation"},
		{`{"header":{}}`, "h: the file holds no event"},
		{`{"seed":1}`, `h: line 1: unknown key "seed"`},
		{"[" + asJSON + ",\n" + asJSON + "]", "h: " + arrayError}, {" [\n {\n " + asJSON[1:] + "]", "h: " + arrayError},
		{"<html>", "h: line 1: expected an operation (a map in braces), found '<'"},
		{"{}", "h: line 1: an operation without :type: it needs :type, :f and :process"},
		{asJSON + "\n" + asEDN, `h: line 2: expected text in double quotes, found ':' in column 2`},
		{asEDN + "\n" + asJSON, `h: line 2: not EDN: `},
		{asJSON + "\n" + asJSON[:20] + "\n", `h: line 2: "process": expected text in double quotes, found the end of the line`},
	} {
		if _, err := Read("h", strings.NewReader(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// TestACutLastLineIsReadUpToThere cuts off the second of two lines at every byte.
func TestACutLastLineIsReadUpToThere(t *testing.T) {
	for n := range len(asJSON) + 1 {
		f, err := Read("h", strings.NewReader(asJSON+"\n"+asJSON[:n]))
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
		whole := n == 0 || n == len(asJSON)
		if whole != (f.Cut == "") || len(f.History.Events) != 1+n/len(asJSON) ||
			!whole && !strings.HasPrefix(f.Cut, "line 2: ") {
			t.Errorf("cut after %d bytes: %d events, %q", n, len(f.History.Events), f.Cut)
		}
	}
	wrong := strings.Replace(asJSON, "acquire", "aquire", 1) // a complete line with an error in it
	if _, err := Read("h", strings.NewReader(asJSON+"\n"+wrong)); fmt.Sprint(err) !=
		`h: line 2: unknown f "aquire" (did you mean "acquire"?)` {
		t.Error(err)
	}
}

// FuzzRead checks that Read returns either a history with events or an error that names the file, no matter what the
// file contains.
func FuzzRead(f *testing.F) {
	for _, text := range []string{asJSON, asEDN, "[" + asEDN, asJSON + "\n" + asJSON[:9], `{"header":{"clock_error":-1}}`,
		`{"header":{"reading":"strict","reentrant":true}}` + "\n" + asJSON} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		file, err := Read("h", strings.NewReader(string(in)))
		switch {
		case err != nil && !strings.HasPrefix(err.Error(), "h: "):
			t.Fatalf("the error does not name the file: %v", err)
		case err == nil && len(file.History.Events) == 0:
			t.Fatal("nothing was read")
		case err == nil:
			prepare(file.History)
		}
	})
}

// TestADeviceIsNotReadToItsEnd checks that Read does not count a device's lines, because a device may not have an end.
func TestADeviceIsNotReadToItsEnd(t *testing.T) {
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Skip(err)
	}
	defer zero.Close()
	if _, err := Read("zero", zero); err == nil || !strings.Contains(err.Error(), "zero: line 1") {
		t.Error(err)
	}
}

// TestAFileWithoutEndIsRefused checks that there is a limit to the number of bytes read from a file, no matter how long
// its lines are.
func TestAFileWithoutEndIsRefused(t *testing.T) {
	for left, want := range map[int64]string{10: "", 4: "the file is longer than 4294967296 bytes"} {
		text, err := io.ReadAll(&bounded{strings.NewReader("12345"), left})
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || len(text) != 4) {
			t.Errorf("with %d bytes left: %q, %v", left, text, err)
		}
	}
}
