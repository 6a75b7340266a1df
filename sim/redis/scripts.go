package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// Limits on how many scripts are kept.
const (
	MaxScripts  = 256 // maximum number of scripts that are kept after the process that loaded them has ended
	MaxCompiled = 64  // maximum number of compiled scripts, of about 17 KB each
)

// compiledScript is a script that the node has loaded. When the process ends, the node forgets its scripts, but their
// compiled forms are kept.
type compiledScript struct {
	SHA  string // hexadecimal SHA1 of text
	text string
	life uint64 // the value of scripts.life when the script was last loaded; 0 if it is not valid Lua
	Twin twin   // the implementation in Go, if the script is well known
	Lua  *lua.Script
}

// scripts contains the scripts that a node knows. A node knows only those that it has loaded since it last started. The
// compiled forms of other scripts may still be cached.
type scripts struct {
	life     uint64 // grows whenever the node forgets its scripts
	byText   map[string]*compiledScript
	bySHA    map[string]*compiledScript
	latest   *compiledScript // the script loaded last, because clients often send the same text again
	compiled int
	Engine   *lua.Engine // created when it is first needed
}

// endLife makes the node forget its loaded scripts, because its process has ended.
func (s *scripts) endLife() {
	s.forget()
	if s.Engine != nil {
		s.Engine.EndLife()
	}
}

// forget makes the node forget all scripts, as SCRIPT FLUSH or the end of the process does.
func (s *scripts) forget() {
	s.life++
	if len(s.bySHA) > MaxScripts {
		clear(s.byText)
		clear(s.bySHA)
		s.latest, s.compiled = nil, 0
	}
}

// load adds a script to the known scripts, without compiling it.
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

// lookUp returns the script with the given SHA-1 digest. It returns nil if the script has not been loaded since the
// node started or since the last SCRIPT FLUSH.
func (s *scripts) lookUp(sha string) *compiledScript {
	t := s.bySHA[sha]
	if t == nil {
		t = s.bySHA[strings.ToLower(sha)]
	}
	if t == nil || t.life != s.life {
		return nil
	}
	return t
}

// compile compiles the script if necessary. If the text is not valid Lua, compile removes the script from the known
// scripts and returns an error that says why.
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
