//go:build linux

package zkserver

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

// TestANewEpochBeginsWithWhatItsLeaderKnows, whatever the logs say: what is recorded and is not there has been lost,
// what was removed and is there is back, and of what nobody has been told only that counts which agrees.
func TestANewEpochBeginsWithWhatItsLeaderKnows(t *testing.T) {
	const old, now = 2 << 32, 4 << 32
	create := func(zxid int64, name string) txn {
		return txn{zxid: zxid, session: 7, op: opCreate2, path: "/locks/a/" + name, owned: true}
	}
	remove := func(zxid int64, name string) txn { return txn{zxid: zxid, op: opDelete, path: "/locks/a/" + name} }
	end := func(zxid int64, names ...string) txn {
		x := txn{zxid: zxid, op: opCloseSession, cxid: 9}
		for _, name := range names {
			x.paths = append(x.paths, "/locks/a/"+name)
		}
		return x
	}
	folder := txn{zxid: old + 1, op: opCreate, path: "/locks/a"}
	recorded := []txn{folder, create(old+2, "1"), create(old+3, "2"), remove(old+4, "1")}
	for name, c := range map[string]struct {
		list   []txn
		stands string
		want   string
	}{
		"nothing has happened":    {nil, "2", ""},
		"lost":                    {nil, "", "-2 lost in failover"},
		"back":                    {nil, "1 2", "+1"},
		"nobody was told":         {[]txn{create(old+5, "3"), remove(old+6, "2")}, "3", "+3 -2 deleted"},
		"it never was":            {[]txn{create(old+5, "3"), remove(old+6, "2")}, "2", ""},
		"it came and went":        {[]txn{create(old+5, "3"), remove(old+6, "3")}, "2", "+3 -3 deleted"},
		"its going never was":     {[]txn{create(old+5, "3"), remove(old+6, "3")}, "2 3", "+3"},
		"half of an end":          {[]txn{create(old+5, "3"), end(old+6, "2", "3")}, "2", "+3 -3 deleted"},
		"lost, and made again":    {[]txn{create(now+1, "2")}, "2", "-2 lost in failover +2"},
		"removed since":           {[]txn{remove(now+1, "2")}, "", "-2 deleted"},
		"back, and removed since": {[]txn{remove(now+1, "1")}, "2", "+1 -1 deleted"},
		"lost, and made and gone": {[]txn{create(now+1, "2"), remove(now+2, "2")}, "",
			"-2 lost in failover +2 -2 deleted"},
		"nobody was told, and now": {[]txn{create(old+5, "3"), end(now+1, "3")}, "2", "+3 -3 deleted"},
		"made since":               {[]txn{create(now+1, "3")}, "2 3", "+3"},
	} {
		s := &scribe{asked: map[origin]asked{}, nodes: map[string]node{}}
		for _, x := range recorded {
			s.apply(nil, &x)
		}
		n := census{zxid: now + 7, stands: map[string]bool{}}
		for _, name := range strings.Fields(c.stands) {
			n.stands["/locks/a/"+name] = true
		}
		list, did := s.reconcile(slices.Clone(c.list), n)
		for i := range list {
			did = s.apply(did, &list[i])
		}
		var got []string
		for _, e := range did {
			line := "+" + e.name
			if e.gone {
				line = fmt.Sprintf("-%s %s", e.name, e.why)
			}
			got = append(got, line)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for path := range s.nodes {
			if mayBeRequest(path) && !n.stands[path] {
				t.Errorf("%s: %s stands by the records only", name, path)
			}
		}
		for path := range n.stands {
			if _, there := s.nodes[path]; !there {
				t.Errorf("%s: %s stands, and not by the records", name, path)
			}
		}
	}
}

// TestOnlyWhatIsNotThereHasNoChildren: a member that refuses to answer, as of a session that is over, has not said that
// all is lost.
func TestOnlyWhatIsNotThereHasNoChildren(t *testing.T) {
	names := fields{b: record(nil).texts([]string{"1", "2"})}
	torn := fields{b: names.b[:len(names.b)-1]}
	for _, c := range []struct {
		answer reply
		names  int
		known  bool
	}{
		{reply{zxid: 7, body: names}, 2, true},
		{reply{zxid: 7, code: -101}, 0, true},
		{reply{zxid: 7, code: -112}, 0, false},
		{reply{zxid: 7, body: torn}, 2, false},
	} {
		here, there := net.Pipe()
		up := make(chan struct{})
		close(up)
		o := &observer{conn: here, up: up}
		go func() {
			if _, err := readFrame(there); err != nil {
				t.Error(err)
			}
			o.take(xidList, c.answer)
		}()
		l, known := o.children(t.Context(), "/locks")
		if len(l.names) != c.names || known != c.known || l.zxid != 7 {
			t.Errorf("code %d: %q at %d, known: %v", c.answer.code, l.names, l.zxid, known)
		}
	}
}
