package redisserver

// This file translates the server addresses that a Redis server or Sentinel sends. It replaces them with addresses at
// which the client can reach the servers. It does not translate addresses in client data, connection addresses in
// CLIENT LIST, or addresses that a script requests.

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// Address is a server's host and port.
type Address struct{ Host, Port string }

// Book maps server addresses to their replacements.
type Book struct {
	to   map[Address]Address
	text *regexp.Regexp // matches an address in a text
}

// NewBook returns a Book that replaces each key of the given map with its value. A nil Book does not replace anything.
func NewBook(to map[Address]Address) *Book {
	var hosts []string
	for from := range to {
		hosts = append(hosts, regexp.QuoteMeta(from.Host))
	}
	slices.Sort(hosts)
	return &Book{to: to, text: regexp.MustCompile(`(^|[^\w.-])(` + strings.Join(slices.Compact(hosts), "|") +
		`)(` + strings.Join(separators, "|") + `)(\d+)`)}
}

// separators lists regular expressions for what may separate a host from its port: in a Sentinel's messages and in
// replica names (sentinel.c), and in INFO's slaveN and master_host lines (server.c).
var separators = []string{"[: ]", ",port=", "\r\nmaster_port:"}

// NamesServers reports whether a command's reply may contain server addresses. Any reply from a Sentinel may contain
// them.
func NamesServers(args []string) bool {
	return slices.ContainsFunc([]string{"role", "info", "config", "cluster"}, func(name string) bool {
		return len(args) > 0 && strings.EqualFold(args[0], name)
	})
}

// Redirects reports whether a reply redirects the client to another member of a Redis Cluster. Any command may get such
// a reply.
func Redirects(reply []byte) bool {
	return bytes.HasPrefix(reply, []byte("-MOVED ")) || bytes.HasPrefix(reply, []byte("-ASK "))
}

// Translate replaces the servers' addresses in a sequence of complete RESP values.
func (b *Book) Translate(raw []byte) []byte {
	if b == nil {
		return raw
	}
	var out []byte
	for len(raw) > 0 {
		var v resp.Value
		v, raw = resp.Parse(raw)
		b.translate(&v)
		out = v.Append(out)
	}
	return out
}

func (b *Book) translate(v *resp.Value) {
	for i := range v.List {
		b.pair(v.List[i:])
		b.translate(&v.List[i])
	}
	if len(v.List) == 0 && (!v.IsError() || Redirects(v.Append(nil))) {
		v.Text = b.inText(v.Text)
	}
}

// pair replaces the address at the start of a list, if there is one. The host is the first element. The port comes
// next, possibly after its field name.
func (b *Book) pair(list []resp.Value) {
	if list[0].Text == "port" {
		b.fields(list)
	}
	port := 1
	if len(list) > 2 && strings.HasSuffix(list[1].Text, "port") {
		port = 2
	}
	if len(list) <= port {
		return
	}
	if to, known := b.to[Address{list[0].Text, list[port].Text}]; known {
		list[0].Text, list[port].Text = to.Host, to.Port
	}
}

// fields replaces a Cluster member's address in a list of fields in which the port precedes the host (CLUSTER SHARDS).
func (b *Book) fields(list []resp.Value) {
	for i, from := 3, list[min(1, len(list)-1)].Text; i < len(list); i += 2 {
		if to, known := b.to[Address{list[i].Text, from}]; known {
			list[1].Text, list[i].Text = to.Port, to.Host
		}
	}
}

// inText replaces the addresses that occur in text.
func (b *Book) inText(text string) string {
	return b.text.ReplaceAllStringFunc(text, func(found string) string {
		parts := b.text.FindStringSubmatch(found)
		if to, known := b.to[Address{parts[2], parts[4]}]; known {
			return parts[1] + to.Host + parts[3] + to.Port
		}
		return found
	})
}

// Stream replaces addresses in data that arrives in pieces. The zero Stream does not replace anything.
type Stream struct {
	Book *Book
	half []byte // the beginning of an incomplete value
}

// Translate replaces the addresses in the values that are complete so far, and returns these values. It saves the rest
// for the next call.
func (s *Stream) Translate(b []byte) []byte {
	if s.Book == nil {
		return b
	}
	s.half = append(s.half, b...)
	whole := 0
	for next := resp.Size(s.half); next > 0; next = resp.Size(s.half[whole:]) {
		whole += next
	}
	out := s.Book.Translate(s.half[:whole])
	s.half = append(s.half[:0], s.half[whole:]...)
	return out
}
