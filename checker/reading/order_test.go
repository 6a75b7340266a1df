package reading

import (
	"fmt"
	"strings"
	"testing"
)

// TestFieldsAreInOrderOrSaidNotToBe tests every field whose values must be in some order or be listed in the header. It
// makes a record with a field that breaks this rule. Either the record must be rejected with an error that gives the
// file, the line and the problem, or it must be accepted for a stated reason.
func TestFieldsAreInOrderOrSaidNotToBe(t *testing.T) {
	const header = `{"header":{"servers":["s1","s2"],"shards":[["s1","s1-replica"]],"quorum":2,"clock_error":4,"end":90}}`
	grant := func(f, typ string, time, since, granted, until int, more string) string {
		return fmt.Sprintf(`{"time":%d,"process":"a","type":%q,"f":%q,"lock":"l","attempt":"a/1","since":%d,"granted":%d,`+
			`"until":%d%s}`, time, typ, f, since, granted, until, more)
	}
	for _, c := range []struct {
		name    string
		lines   []string
		refused string // the error after the file and the line; empty if the record is accepted
		why     string // why the record is accepted
	}{
		{"in order", []string{grant("acquire", "ok", 9, 7, 8, 20, "")}, "", "it is"},
		{"all at once", []string{grant("extend", "ok", 9, 9, 9, 9, "")}, "", "clocks are coarse"},
		{"granted before it was asked for", []string{grant("acquire", "ok", 9, 8, 7, 20, "")},
			`"since" (8) is after "granted" (7): a client asks for a lease before it is granted`, ""},
		{"extended before it was asked for", []string{grant("extend", "ok", 9, 8, 7, 20, "")},
			`"since" (8) is after "granted" (7): a client asks for a lease before it is granted`, ""},
		{"granted after it returned, within the error of its clock", []string{grant("acquire", "ok", 9, 7, 10, 20, "")},
			`"granted" (10) is after the event's own "time" (9): a lease is granted before its holder returns`, ""},
		{"extended after it returned", []string{grant("extend", "ok", 9, 7, 10, 20, "")},
			`"granted" (10) is after the event's own "time" (9): a lease is granted before its holder returns`, ""},
		{"over when it was granted", []string{grant("acquire", "ok", 9, 7, 8, 6, "")}, "",
			"a client that measures its validity late has none left: lease not rechecked"},
		{"asked for before the call", []string{`{"time":8,"process":"a","type":"invoke","f":"acquire","lock":"l"}`,
			grant("acquire", "ok", 9, 7, 8, 20, "")}, "", "a recorder may write the call late, or not at all"},
		{"a grant on a call", []string{grant("acquire", "invoke", 9, 7, 8, 20, "")},
			`acquire invoke has fields of a grant (since, granted, counted), which only ` +
				`acquire ok and extend ok may have: remove them`, ""},
		{"a grant on a failure", []string{grant("acquire", "fail", 9, 7, 8, 20, "")},
			`acquire fail has fields of a grant (since, granted, counted), which only ` +
				`acquire ok and extend ok may have: remove them`, ""},
		{"a grant on a release", []string{grant("release", "ok", 9, 7, 8, 20, "")},
			`release ok has fields of a grant (since, granted, counted), which only ` +
				`acquire ok and extend ok may have: remove them`, ""},
		{"a grant without its end", []string{`{"time":9,"process":"a","type":"ok","f":"acquire","since":1,"granted":2}`},
			`a grant needs since, granted and until: "until" is missing`, ""},
		{"an end without its grant", []string{`{"time":9,"process":"a","type":"ok","f":"acquire","until":2}`},
			`a grant needs since, granted and until: "since" is missing`, ""},
		{"counted by servers", []string{grant("acquire", "ok", 9, 7, 8, 20, `,"counted":["s1-replica","s2"]`)}, "", "it is"},
		{"counted by fewer than a quorum", []string{grant("acquire", "ok", 9, 7, 8, 20, `,"counted":["s2"]`)}, "",
			"that is a finding: counted without quorum"},
		{"counted by a stranger", []string{grant("acquire", "ok", 9, 7, 8, 20, `,"counted":["s1","s3"]`)},
			`"counted" lists "s3", which is not one of the header's "servers"`, ""},
		{"counted twice", []string{grant("acquire", "ok", 9, 7, 8, 20, `,"counted":["s1","s1"]`)},
			`"counted" lists "s1" twice`, ""},
		{"a key that is set when it is due", []string{
			`{"time":9,"process":"s1","type":"ok","f":"key-set","lock":"l","of":"a/1","until":3}`}, "",
			"a client may give a deadline that is over, by its clock or the server's"},
		{"times that go back",
			[]string{grant("acquire", "ok", 9, 7, 8, 20, ""), grant("extend", "ok", 5, 4, 4, 20, "")},
			"", "a clock may be set back: the order is that of the lines"},
		{"after the end", []string{grant("acquire", "ok", 99, 7, 8, 20, "")}, "",
			"the recording then lasted until the event"},
		{"indexes that go back", []string{`{"index":7,"time":1,"process":"a","type":"ok","f":"lost"}`,
			`{"index":7,"time":2,"process":"a","type":"ok","f":"lost"}`}, "index out of order: 7 follows 7", ""},
		{"outcomes without calls", []string{`{"time":1,"process":"a","type":"ok","f":"release","lock":"l"}`}, "",
			"a recorder may write outcomes only: it was called when it returned"},
	} {
		f, err := Read("h.jsonl", strings.NewReader(header+"\n"+strings.Join(c.lines, "\n")+"\n"))
		want := fmt.Sprintf("h.jsonl: line %d: %s", 1+len(c.lines), c.refused)
		switch allowed := c.refused == ""; {
		case allowed != (c.why != ""):
			t.Errorf("%s: neither refused nor allowed for a reason", c.name)
		case !allowed && (err == nil || err.Error() != want):
			t.Errorf("%s: got %v, want %s", c.name, err, want)
		case allowed && (err != nil || len(f.History.Events) != len(c.lines)):
			t.Errorf("%s is allowed (%s), got %v", c.name, c.why, err)
		}
	}
}

// TestEDNStatesNoGrants checks that grant keys in Jepsen's operations are ignored, so that their order does not matter.
func TestEDNStatesNoGrants(t *testing.T) {
	f, err := Read("h.edn", strings.NewReader(
		`{:type :ok, :f :acquire, :process 0, :time 9, :since 8, :granted 7, :until 6, :counted [:s1 :s1]}`))
	if err != nil || f.History.Events[0].Grant != nil {
		t.Errorf("%v, %+v", err, f)
	}
}

// TestHeadersThatContradictThemselvesAreRefused checks that a contradictory header is refused with an error that gives
// the line and says what is wrong.
func TestHeadersThatContradictThemselvesAreRefused(t *testing.T) {
	for header, want := range map[string]string{
		`{"ttl":-1}`:         `"ttl" is -1: it cannot be negative`,
		`{"quorum":-1}`:      `"quorum" is -1: it cannot be negative`,
		`{"clock_error":-1}`: `"clock_error" is -1: it cannot be negative`,
		`{"clock_error":5,"clock_errors":{"a":6}}`: `"clock_errors" has 6 for "a": it must be between 0 and "clock_error" (5)`,
		`{"seen":{"a":6}}`:                         `"seen" requires "clock_error": otherwise, one clock records all events until the end`,
	} {
		_, err := Read("h", strings.NewReader(`{"header":`+header+"}\n"+asJSON))
		if got := fmt.Sprint(err); got != "h: line 1: header: "+want {
			t.Errorf("%s: got %s, want %s", header, got, want)
		}
	}
}
