package consulserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim/consul"
	"github.com/fencepost-sim/fencepost/sim/http1"
)

// answer is a process's reply to a request.
type answer struct {
	consul.Answer
	reply []byte // the whole reply, as a client gets it
}

// ask sends a request to the process.
func (m *member) ask(ctx context.Context, r *http1.Request) (a answer, err error) {
	q, err := http.NewRequestWithContext(ctx, r.Method, "http://"+string(m.name)+r.URI, strings.NewReader(r.Body))
	if err != nil {
		return a, err
	}
	for name, value := range map[string]string{"Content-Type": r.ContentType, "Accept": r.Accept} {
		if value != "" {
			q.Header.Set(name, value)
		}
	}
	response, err := m.cluster.http.Do(q)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	a.Code, a.Body = response.StatusCode, string(body)
	a.Index, _ = strconv.ParseUint(response.Header.Get("X-Consul-Index"), 10, 64)
	response.Header.Del("Content-Length")
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		fields = append(fields, name+": "+response.Header.Get(name))
	}
	a.reply = http1.Reply(a.Code, body, fields...)
	return a, err
}

// read sends a GET request and decodes the reply into a value. If the reply is 404, the value does not change.
func (m *member) read(ctx context.Context, uri string, into any) (answer, error) {
	a, err := m.ask(ctx, &http1.Request{Method: http.MethodGet, URI: uri})
	switch {
	case err != nil:
	case a.Code == http.StatusOK:
		err = json.Unmarshal([]byte(a.Body), into)
	case a.Code != http.StatusNotFound:
		err = fmt.Errorf("it replied with status %d: %s", a.Code, a.Body)
	}
	return a, err
}

// keys returns all keys, and the index up to which the list shows every change.
func (m *member) keys(ctx context.Context, options string) (list []consul.Pair, index uint64, err error) {
	a, err := m.read(ctx, "/v1/kv/?recurse=&"+options, &list)
	return list, a.Index, err
}

// status is what a process says about itself.
type status struct {
	Raft struct {
		State   string `json:"state"`
		Members string `json:"latest_configuration"`
	} `json:"raft"`
	Consul struct {
		Leader string `json:"leader_addr"`
	} `json:"consul"`
}

// voters returns how many servers elect the leader, as far as the process knows.
func (s *status) voters() int { return strings.Count(s.Raft.Members, "Suffrage:Voter") }

func (m *member) status(ctx context.Context) (status, error) {
	var self struct{ Stats status }
	_, err := m.read(ctx, "/v1/agent/self", &self)
	return self.Stats, err
}

// registered returns nil if the leader has registered the given number of servers as healthy nodes.
func (m *member) registered(ctx context.Context, n int) error {
	var checks []struct{ CheckID string }
	_, err := m.read(ctx, "/v1/health/state/passing", &checks)
	if err == nil && len(checks) < n {
		err = fmt.Errorf("the leader has registered %d servers", len(checks))
	}
	return err
}

// connectTLS and connectRaft are types of connections between servers (package pool of Consul). timeoutNow is the
// message with which a raft leader hands over (hashicorp/raft, net_transport.go): it makes a server stand for election
// at once, and the others vote for it even if they know a leader. Consul has had a request for handing over only since
// 1.15.
const (
	connectTLS, connectRaft = "\x03", "\x01"
	timeoutNow              = "\x03\x81\xafProtocolVersion\x03"
)

// rule makes the server the leader.
func (m *member) rule() error {
	id := m.cluster.identity
	pair, err := tls.LoadX509KeyPair(id.Certificate, id.Key)
	if err != nil {
		return err
	}
	return standAt(m.rpc().String(), pair)
}

// standAt makes the server at an address stand for election. The server accepts this only from a process that has the
// run's certificate.
func standAt(address string, certificates ...tls.Certificate) error {
	conn, err := net.DialTimeout("tcp", address, fleet.Patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(fleet.Patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, connectTLS); err != nil {
		return err
	}
	// the address is one on which the run's own process listens
	secure := tls.Client(conn, &tls.Config{Certificates: certificates, InsecureSkipVerify: true})
	if _, err := io.WriteString(secure, connectRaft+timeoutNow); err != nil {
		return err
	}
	_, err = secure.Read(make([]byte, 1))
	return err
}

// end ends a session, through any server that answers.
func (f *cluster) end(id string) {
	for _, m := range f.members {
		ctx, cancel := context.WithTimeout(context.Background(), answers)
		r := consul.DestroySession(id)
		a, err := m.ask(ctx, &r)
		if cancel(); err == nil && a.Code == http.StatusOK {
			return
		}
	}
}
