package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// Limits of the number of scripts that are kept.
const (
	MaxScripts  = 256 // after the end of the life that loaded them
	MaxCompiled = 64  // compiled; each takes about 17 KB
)

// compiledScript is a script that one or more lives of the node have loaded.
type compiledScript struct {
	SHA  string // hexadecimal SHA1 of text
	text string
	life uint64 // the life that last loaded it
	Twin twin   // the script in Go, if it is well known
	Lua  *lua.Script
}

// scripts are the scripts that a node knows. A life knows only the scripts that it has loaded, even if the compiled
// forms of others are cached.
type scripts struct {
	life     uint64
	byText   map[string]*compiledScript
	bySHA    map[string]*compiledScript
	latest   *compiledScript // the script loaded last, since clients send the same text repeatedly
	compiled int
	Engine   *lua.Engine // made when first needed
}

// endLife ends a life.
func (s *scripts) endLife() {
	s.forget()
	if s.Engine != nil {
		s.Engine.EndLife()
	}
}

// forget makes all scripts unknown, as the end of a life or SCRIPT FLUSH does.
func (s *scripts) forget() {
	s.life++
	if len(s.bySHA) > MaxScripts {
		clear(s.byText)
		clear(s.bySHA)
		s.latest, s.compiled = nil, 0
	}
}

// load makes a script known to this life. It does not compile it.
func (s *scripts) load(text string) *compiledScript {
	t := s.latest
	if t == nil || t.text != text {
		t = s.byText[text]
	}
	if t == nil {
		sha := lua.SHA1Hex(text)
		t = &compiledScript{SHA: sha, text: text, Twin: FindTwin(text)}
		if s.byText == nil {
			s.byText, s.bySHA = map[string]*compiledScript{}, map[string]*compiledScript{}
		}
		s.byText[text], s.bySHA[t.SHA] = t, t
	}
	t.life, s.latest = s.life, t
	return t
}

// known returns a script that this life has loaded, or nil.
func (s *scripts) known(sha string) *compiledScript {
	t := s.bySHA[sha]
	if t == nil {
		t = s.bySHA[strings.ToLower(sha)]
	}
	if t == nil || t.life != s.life {
		return nil
	}
	return t
}

// compile makes sure that the script is compiled. The error says why its text is not valid Lua; this life then forgets
// the script.
func (s *scripts) compile(t *compiledScript) error {
	if t.Lua != nil {
		return nil
	}
	if s.compiled >= MaxCompiled {
		for _, other := range s.bySHA {
			other.Lua = nil
		}
		s.compiled = 0
	}
	compiled, err := s.Engine.Compile(t.text, t.SHA)
	if err != nil {
		t.life = 0
		return err
	}
	t.Lua = compiled
	s.compiled++
	return nil
}
