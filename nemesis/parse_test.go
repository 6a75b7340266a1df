package nemesis

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// anyKind can list all kinds, because the kinds in earlier files are registered before it is initialized.
var anyKind = "expected a fault (" + strings.Join(openings(), ", ") + ")"

// openings returns the words that can begin a line. It omits "delay message", because such a line also begins with
// "delay".
func openings() (list []string) {
	for _, k := range Kinds {
		if !slices.ContainsFunc(list, func(o string) bool { return strings.HasPrefix(k.String(), o+" ") }) {
			list = append(list, k.String())
		}
	}
	return list
}

// badLine is an invalid line with its expected error: the column, the message, and the nearest valid word.
type badLine struct {
	line    string
	column  int
	msg     string
	nearest string
}

var badGrammar = []badLine{
	// Fault kind errors.
	{"", 1, anyKind + `, found the end of the line`, ""},
	{" \t", 1, anyKind + `, found the end of the line`, ""},
	{"pose client-1 for 3s at 1s", 1, anyKind + `, found "pose"`, "pause"},
	{"Pause client-1 for 3s at 1s", 1, anyKind + `, found "Pause"`, "pause"},
	{"shutdown redis-1 at 1s", 1, anyKind + `, found "shutdown"`, "shut down"},
	{"shut up redis-1 at 1s", 6, `expected "down", found "up"`, ""},
	{"failover redis-1 to redis-2 at 1s", 1, anyKind + `, found "failover"`, "fail over"},
	{"delay mesage 3 of client-1 -> redis-1 by 3s", 7,
		`expected "message" or a process such as client-1, found "mesage"`, "message"},
	{"expires session of client-1 at 1s", 1, anyKind + `, found "expires"`, "expire"},
	{"expire lease of client-1 at 1s", 8, `expected "session", found "lease"`, ""},
	{"slow-fsync of redis-1 by 3s at 1s for 3s", 1, anyKind + `, found "slow-fsync"`, "slow fsync"},
	{"kill client-1 at 3s", 1, anyKind + `, found "kill"`, ""},
	// Process name errors.
	{"pause", 6, `expected a process such as client-1, found the end of the line`, ""},
	{"pause 15s", 7, `expected a process such as client-1, found "15s"`, ""},
	{"pause client1 for 15s at 1s", 7, `expected a process such as client-1, found "client1"`, ""},
	{"pause client-0 for 15s at 1s", 7, `expected a process such as client-1, found "client-0"`, ""},
	{"pause client-01 for 15s at 1s", 7, `expected a process such as client-1, found "client-01"`, ""},
	{"pause Redis_1.replica2 for 15s at 1s", 7, `expected a process such as client-1, found "Redis_1.replica2"`, ""},
	{"pause redis-1-replica for 15s at 1s", 7, `expected a process such as client-1, found "redis-1-replica"`, ""},
	{"pause resorce for 15s at 1s", 7, `expected a process such as client-1, found "resorce"`, ""},
	{"cut client-1 redis-1 at 1s", 22, `expected a process such as client-1, "->" or "|", found "at"`, ""},
	{"cut client-1 <-> redis-1 at 1s", 14, `expected a process such as client-1, "->" or "|", found "<"`, ""},
	{"cut client-1 | redis-1 client2 at 1s", 24,
		`expected a process such as client-1, "at" or "after", found "client2"`, ""},
	{"cut client-1 | redis-1 att 1s", 24, `expected a process such as client-1, "at" or "after", found "att"`, "at"},
	{"cut | redis-1 at 1s", 5, `expected a process such as client-1, found "|"`, ""},
	{"delay client-1 | redis-1 by 3s at 1s", 16, `expected "->", found "|"`, ""},
	{"break client-1 -> redis-1 before reply 1", 16, `expected "|", found "->"`, ""},
	// Errors in literal words.
	{"pause client-1", 15, `expected "for", found the end of the line`, ""},
	{"pause client-1 fro 15s at 1s", 16, `expected "for", found "fro"`, "for"},
	{"jump redis-3 by 30s at 4s", 14, `expected "clock", found "by"`, ""},
	{"fail over redis-1 too redis-1-replica-1 at 1s", 19, `expected "to", found "too"`, "to"},
	{"break client-1 | redis-1 before replies 1", 33, `expected "reply" or "the", found "replies"`, "reply"},
	{"break client-1 | redis-1 after reply 1", 26, `expected "before", found "after"`, ""},
	{"slow fsync redis-1 by 3s at 1s for 10s", 12, `expected "of", found "redis-1"`, ""},
	{"slow fsync of redis-1 by 3s at 1s", 34, `expected "for", found the end of the line`, ""},
	// Duration errors.
	{"pause client-1 for", 19, `expected a duration such as 500ms, found the end of the line`, ""},
	{"pause client-1 for ever at 1s", 20, `expected a duration such as 500ms, found "ever"`, ""},
	{"pause client-1 for 15 at 1s", 20, `a duration needs a unit: write 15s or 15ms, found "15"`, ""},
	{"pause client-1 for 15s at 0", 27, `a duration needs a unit: write 0s, found "0"`, ""},
	{"pause client-1 for 15sec at 1s", 20, `unknown unit "sec", found "15sec"`, "15s"},
	{"pause client-1 for 15mss at 1s", 20, `unknown unit "mss", found "15mss"`, "15ms"},
	{"pause client-1 for 15d at 1s", 20, `unknown unit "d", found "15d"`, ""},
	{"pause client-1 for 0s at 1s", 20, `a duration must be longer than 0s, found "0s"`, ""},
	{"pause client-1 for 0.1ns at 1s", 20, `a duration must be longer than 0s, found "0.1ns"`, ""},
	{"pause client-1 for -3s at 1s", 20, `a duration must not have a sign here, found "-3s"`, "3s"},
	{"pause client-1 for 25h at 1s", 20, `a duration must be at most 24h, found "25h"`, ""},
	{"pause client-1 for 9999999999999999999s at 1s", 20, `a duration must be at most 24h, found "9999999999999999999s"`,
		""},
	{"pause client-1 for 1..5s at 1s", 20, `expected a duration such as 500ms, found "1..5s"`, ""},
	{"pause client-1 for .s at 1s", 20, `expected a duration such as 500ms, found ".s"`, ""},
	{"jump redis-3 clock by", 22, `expected a jump such as +30s or -5s, found the end of the line`, ""},
	{"jump redis-3 clock by 30s at 4s", 23, `a jump needs a sign (+ or -), found "30s"`, "+30s"},
	{"jump redis-3 clock by 30 at 4s", 23, `a duration needs a unit: write +30s or +30ms, found "30"`, ""},
	{"jump redis-3 clock by -30 at 4s", 23, `a duration needs a unit: write -30s or -30ms, found "-30"`, ""},
	{"jump redis-3 clock by + at 4s", 23, `expected a jump such as +30s or -5s, found "+"`, ""},
	{"jump redis-3 clock by --3s at 4s", 23, `a duration must not have a sign here, found "--3s"`, "-3s"},
	{"jump redis-3 clock by -0s at 4s", 23, `a jump of 0s changes nothing, found "-0s"`, ""},
	{"jump redis-3 clock by -24.1h at 4s", 23, `a duration must be at most 24h, found "-24.1h"`, ""},
	{"jump redis-3 clock by soon at 4s", 23, `expected a jump such as +30s or -5s, found "soon"`, ""},
	// Rate and number errors.
	{"drift redis-1 clock by", 23, `expected a rate such as +200ppm, found the end of the line`, ""},
	{"drift redis-1 clock by 200ppm from 0s", 24, `a rate needs a sign, found "200ppm"`, "+200ppm"},
	{"drift redis-1 clock by +200 from 0s", 24, `a rate needs its unit, ppm, found "+200"`, "+200ppm"},
	{"drift redis-1 clock by +2% from 0s", 24, `expected a rate such as +200ppm, found "+2%"`, ""},
	{"drift redis-1 clock by +-2ppm from 0s", 24, `expected a rate such as +200ppm, found "+-2ppm"`, ""},
	{"drift redis-1 clock by +ppm from 0s", 24, `expected a rate such as +200ppm, found "+ppm"`, ""},
	{"drift redis-1 clock by +0ppm from 0s", 24, `a rate of zero changes nothing, found "+0ppm"`, ""},
	{"drift redis-1 clock by -500001ppm from 0s", 24, `a rate must be at most 500000ppm either way, found "-500001ppm"`, ""},
	{"delay message 0 of client-1 -> redis-1 by 3s", 15, `expected a number from 1 to 1000000, found "0"`, ""},
	{"delay message +1 of client-1 -> redis-1 by 3s", 15, `expected a number from 1 to 1000000, found "+1"`, ""},
	{"delay message three of client-1 -> redis-1 by 3s", 15, `expected a number from 1 to 1000000, found "three"`, ""},
	// Trigger errors.
	{"pause client-1 for 15s", 23, `expected "at" or "after", found the end of the line`, ""},
	{"pause client-1 for 15s aftr acquired", 24, `expected "at" or "after", found "aftr"`, "after"},
	{"pause client-1 for 15s after", 29, `expected "the" or a point such as acquired, found the end of the line`, ""},
	{"pause client-1 for 15s after aquired", 30, `expected "the" or a point such as acquired, found "aquired"`,
		"acquired"},
	{"pause client-1 for 15s after 1.2s", 24, `"at" must precede a time here, found "after"`, "at"},
	{"pause client-1 for 15s at", 26,
		`expected a time such as 1.2s, "the" or a point such as acquired, found the end of the line`, ""},
	{"pause client-1 for 15s at the acquired", 31, `expected a rank such as 3rd, found "acquired"`, ""},
	{"pause client-1 for 15s at the 3th acquired", 31, `expected a rank such as 3rd, found "3th"`, "3rd"},
	{"pause client-1 for 15s at the 0th acquired", 31, `expected a rank such as 3rd, found "0th"`, ""},
	{"pause client-1 for 15s at the 3rd lock", 35, `expected a point such as acquired, found "lock"`, ""},
	{"pause client-1 for 15s after acquired bye client-1", 39, `expected "by" or the end of the line, found "bye"`,
		"by"},
	{"delay message 3 of client-1 -> redis-1 by 3s at 1s", 46, `expected the end of the line, found "at"`, ""},
	{"drift redis-1 clock by -500ppm at 0s", 32, `"from" must precede a time here, found "at"`, "from"},
	{"drift redis-1 clock by -500ppm after 1s", 32, `"from" must precede a time here, found "after"`, "from"},
	{"drift redis-1 clock by -500ppm form 1s", 32, `expected "from", "at" or "after", found "form"`, "from"},
	{"drift redis-1 clock by -500ppm from acquired", 37, `expected a duration such as 500ms, found "acquired"`, ""},
	{"drift redis-1 clock by -500ppm from 0s until 3s", 40, `expected "for" or the end of the line, found "until"`, ""},
	// Syntax errors in a crash's losing and restart clauses.
	{"crash redis-2 loosing everything at 1s", 15, `expected "losing", "at" or "after", found "loosing"`, "losing"},
	{"crash redis-2 losing evrything at 1s", 22, `expected "unsynced" or "everything", found "evrything"`,
		"everything"},
	{"crash redis-2 losing unsync writes at 1s", 22, `expected "unsynced" or "everything", found "unsync"`, "unsynced"},
	{"crash redis-2 losing unsynced write at 1s", 31, `expected "writes", found "write"`, "writes"},
	{"crash redis-2 losing everything at 1s restart after 3s", 39,
		`expected "," or the end of the line, found "restart"`, ""},
	{"crash redis-2 losing everything at 1s, restart", 47, `expected "after", found the end of the line`, ""},
	{"crash redis-2 losing everything at 1s, restart after 0s", 54, `a duration must be longer than 0s, found "0s"`, ""},
	{"crash redis-2 losing everything at 1s, reboot after 3s", 40, `expected "restart", found "reboot"`, ""},
	// Unusual characters, and lines and words that are too long.
	{"pause clïent-1 fro 1s at 1s", 7, `expected a process such as client-1, found "clïent-1"`, ""},
	{"pause client-1 för 1s at 1s", 16, `expected "for", found "för"`, "for"},
	{"cut client-1 | redis-1 at 1µs fro 1s", 31, `expected "for" or the end of the line, found "fro"`, "for"},
	{"pause \xff for 1s at 1s", 7, `the text is not valid UTF-8`, ""},
	{"pause \x00 for 1s at 1s", 7, `expected a process such as client-1, found "\x00"`, ""},
	{"pause " + strings.Repeat("x", 50), 7,
		`expected a process such as client-1, found "` + strings.Repeat("x", 40) + `…"`, ""},
	{strings.Repeat("x", maxLine+1), 1, `the line is longer than 4096 bytes`, ""},
}

func TestParseSaysWhereWhatAndTheNearestWord(t *testing.T) {
	for _, bad := range badGrammar {
		_, err := Parse(bad.line)
		bad.compare(t, err)
	}
}

func (bad badLine) compare(t *testing.T, err error) {
	t.Helper()
	var got *ParseError
	if !errors.As(err, &got) {
		t.Errorf("%q: error %v, want a ParseError", bad.line, err)
	} else if want := (ParseError{bad.column, bad.msg, bad.nearest}); *got != want {
		t.Errorf("%q\n got %+v\nwant %+v", bad.line, *got, want)
	}
}

// TestNearestWordMendsTheLine replaces a line's wrong word with the suggested one. The line must then be valid, or its
// next error must be at a later position.
func TestNearestWordMendsTheLine(t *testing.T) {
	for _, bad := range badGrammar {
		if bad.nearest == "" {
			continue
		}
		runes := []rune(bad.line)
		rest := string(runes[bad.column-1:])
		_, behind, _ := strings.Cut(rest, " ")
		mended := string(runes[:bad.column-1]) + bad.nearest + " " + behind
		var again *ParseError
		if _, err := Parse(mended); errors.As(err, &again) && again.Column <= bad.column {
			t.Errorf("%q mended to %q: %v", bad.line, mended, err)
		}
	}
}

func TestErrorsReadAsOneLine(t *testing.T) {
	_, err := Parse("pause client-1 fro 3s at 1s")
	if got, want := err.Error(), `column 16: expected "for", found "fro" (did you mean "for"?)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err = Parse("pause client-1")
	if got, want := err.Error(), `column 15: expected "for", found the end of the line`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, line := range []string{"pause client-1 for 15s after acquired",
		"crash redis-2 losing unsynced writes at 1.2s, restart after 500ms"} {
		b.Run(strings.Fields(line)[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkString(b *testing.B) {
	f, err := Parse("crash redis-2 losing unsynced writes at 1.2s, restart after 500ms")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = f.String()
	}
}
