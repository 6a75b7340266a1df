package zkserver

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// ensemble contains a run's members.
type ensemble struct {
	*fleet.Fleet
	secret   string // password of the superuser, as whom all connections of the run authenticate
	identity process.Identity
	members  []*member
	// tick and syncLimit are ZooKeeper's tickTime and syncLimit settings.
	tick      time.Duration
	syncLimit int
	records   records
	sessions  sessions
}

// Launch starts the members and prepares them for the faults in plan. It waits until all of them are serving requests
// and the first one is the leader. The members end when the keeper does.
func Launch(c Config, plan []nemesis.Fault) (_ *fleet.Fleet, err error) {
	if err := installed(); err != nil {
		return nil, err
	}
	e := &ensemble{tick: cmp.Or(c.TickTime, zookeeper.DefaultTick),
		syncLimit: cmp.Or(c.SyncLimit, zookeeper.DefaultSyncLimit),
		secret:    rand.Text(), sessions: sessions{all: map[int64]session{}},
		records: records{nodes: map[string]node{}, asked: map[origin]history.Attempt{}}}
	if e.Fleet, err = fleet.New(c.Keeper, slices.ContainsFunc(plan, c.needsShim), c.Failed); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.End()
		}
	}()
	if e.identity, err = process.NewIdentity(c.Keeper.Folder()); err != nil {
		return nil, fmt.Errorf("making a certificate for the members: %w", err)
	}
	var talks fleet.Opener
	if len(c.Members) > 1 {
		talks = (*fleet.Relay).ListenSOCKS
	}
	for i, name := range c.Members {
		m := &member{name: name, ensemble: e, number: len(c.Members) - i, host: loopback}
		if m.Lives, err = e.NewLives(name, talks); err != nil {
			return nil, err
		}
		if m.Port != nil {
			m.host = m.Port.Own()
		}
		m.Daemon.Args = m.arguments()
		e.members = append(e.members, m)
		e.Add(name, m)
	}
	return e.Fleet, e.elect()
}

// tries is the maximum number of times that the members are started. They must be started again if a member other than
// the first is elected. On a busy host, a leader may also lose its connections to the other members right after the
// election.
const tries = 5

// elect starts the members, and restricts the root znode to the superuser. If the first member does not become the
// leader, elect kills all members and starts them again, at most tries times in all. The first member has the highest
// number, and the others are not started until it is running.
func (e *ensemble) elect() error {
	err := errors.New("a member other than the first was elected, repeatedly")
	for range tries {
		if err := e.start(); err != nil {
			return err
		}
		if e.members[0].mode() != "follower" {
			if err = e.closeRoot(e.members[0].address()); err == nil {
				return nil
			}
		}
		for _, m := range e.members {
			m.Daemon.Kill()
			if err := os.RemoveAll(m.data()); err != nil {
				return err
			}
		}
	}
	return err
}

// start starts all members, each on its own ports, and waits until they are serving requests.
func (e *ensemble) start() error {
	for _, m := range e.members {
		if err := m.choosePorts(); err != nil {
			return err
		}
	}
	for i, m := range e.members {
		if err := m.configure(); err != nil {
			return fmt.Errorf("configuring %s: %w", m.name, err)
		}
		if err := m.Daemon.Start(); err != nil {
			return fmt.Errorf("starting %s: %w", m.name, err)
		}
		if i == 0 && len(e.members) > 1 {
			if err := m.await(m.votes); err != nil {
				return err
			}
		}
	}
	for _, m := range e.members {
		if err := m.await(func() bool { return m.mode() != "" }); err != nil {
			return err
		}
	}
	return nil
}

// votes reports whether the process takes part in elections.
func (m *member) votes() bool {
	conn, err := net.DialTimeout("tcp", m.addressOf(m.election), roleLimit)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// await waits until ready returns true.
func (m *member) await(ready func() bool) error {
	return m.Daemon.Await(ready, "serves nobody", patience, 10*time.Millisecond, nil)
}

// session is the information needed to resume a client's session.
type session struct {
	client   history.Process
	password string
	timeout  time.Duration
}

// sessions contains the sessions that clients have opened, by ID.
type sessions struct {
	mu  sync.Mutex
	all map[int64]session
}

func (s *sessions) set(id int64, of session) {
	s.mu.Lock()
	s.all[id] = of
	s.mu.Unlock()
}

// get returns the session with the given ID, or the zero session if no client has opened it.
func (s *sessions) get(id int64) session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// idsOf returns the IDs of a client's sessions, sorted.
func (s *sessions) idsOf(client history.Process) (list []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, x := range s.all {
		if x.client == client {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}
