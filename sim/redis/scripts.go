package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// How many scripts are kept.
const (
	MaxScripts  = 256 // beyond the life that loaded them
	MaxCompiled = 64  // compiled: a compiled script takes some 17 KB
)

// compiledScript is a script as one life of the node or several have seen it.
type compiledScript struct {
	SHA  string // hexadecimal SHA1 of text
	text string
	life uint64 // the life that last loaded it
	Twin twin   // the same in Go, for well-known scripts
	Lua  *lua.Script
}

// scripts are the scripts known to a node. A life knows only what it has loaded, even if the compiled form of others is
// cached.
type scripts struct {
	life     uint64
	byText   map[string]*compiledScript
	bySHA    map[string]*compiledScript
	latest   *compiledScript // that was loaded: clients send the same text over and over
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

// forget makes all scripts unknown, as the end of a life and SCRIPT FLUSH do.
func (s *scripts) forget() {
	s.life++
	if len(s.bySHA) > MaxScripts {
		clear(s.byText)
		clear(s.bySHA)
		s.latest, s.compiled = nil, 0
	}
}

// load makes a text known to this life. It is not compiled yet.
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

// known finds a script that this life has loaded.
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

// compile has the script in compiled form. The error says why its text is no Lua; this life does not know it then.
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
