package redisserver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// watcher is the additional state of a server that runs as a Sentinel.
type watcher struct {
	s *Server

	// subscribers lists the simulated clients' connections that have subscribed to failover messages. They get short
	// messages, like those from the simulated Sentinel. Only the world's goroutine may use this list.
	subscribers []uint64
}

// Sentinel's default settings, from sentinel.conf and its source code.
const (
	defaultDownAfter        = 30 * time.Second
	defaultReconfigureAfter = 8 * time.Second
)

// shortSwitch is the channel on which the simulated Sentinel announces failovers to simulated clients. switchMaster is
// the real Sentinel's equivalent.
const (
	shortSwitch  = "switch-master"
	switchMaster = "+switch-master"
)

// launchSentinel starts the Sentinel and waits until it has found every group's replicas.
func (f *servers) launchSentinel() error {
	down := cmp.Or(f.DownAfter, defaultDownAfter)
	var lines []string
	for _, g := range f.Groups {
		lines = append(lines, fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 1", g[0], f.all[g[0]].Port.Number()),
			fmt.Sprintf("sentinel auth-pass %s %s", g[0], f.secret),
			fmt.Sprintf("sentinel down-after-milliseconds %s %d", g[0], max(1, down.Milliseconds())))
	}
	s, err := f.server(f.Sentinel, true)
	if err != nil {
		return err
	}
	s.sentinel = &watcher{s: s}
	if err := s.launch(lines, "--sentinel"); err != nil {
		return err
	}
	w, err := s.at.dial()
	if err != nil {
		return fmt.Errorf("starting %s: %w", f.Sentinel, err)
	}
	defer w.close()
	err = s.sentinel.tune(w)
	for _, g := range f.Groups {
		if err == nil {
			err = awaitInfo(w, "sentinel", fmt.Sprintf("name=%s,status=ok,address=127.0.0.1:%d,slaves=%d,", g[0],
				f.all[g[0]].Port.Number(), len(g)-1))
		}
	}
	if err != nil {
		return fmt.Errorf("%s does not know the replicas: %w%s", f.Sentinel, err, s.Daemon.LastWords())
	}
	return nil
}

// tune sets intervals that cannot be set in a Sentinel's configuration file. This requires Redis 7 or later. The ping
// interval keeps its default: 1 s, or down-after-milliseconds if that is shorter. The simulated Sentinel uses the same
// interval.
func (n *watcher) tune(w *wire) error {
	c := n.s.cfg
	if !c.seven {
		return nil
	}
	// a Sentinel reconfigures a deposed master after four publishing periods (sentinel.c)
	publish := cmp.Or(c.ReconfigureAfter, defaultReconfigureAfter) / 4
	_, err := w.ask("SENTINEL", "DEBUG", "info-period", millis(refresh), "publish-period", millis(publish))
	return err
}

// refresh is how often the Sentinel asks each server for its role and priority. It is short because a failover ordered
// by a fault must wait for the Sentinel to ask.
const refresh = 500 * time.Millisecond

func millis(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// listen starts a goroutine that reports every failover until the Sentinel stops.
func (n *watcher) listen(x *life) error {
	w, err := n.s.at.dial()
	if err != nil {
		return err
	}
	if _, err = w.ask("SUBSCRIBE", switchMaster); err == nil {
		err = n.tune(x.admin)
	}
	if err != nil {
		w.close()
		return err
	}
	go func() {
		<-x.Context.Done()
		w.close()
	}()
	go func() {
		for {
			v, err := w.read()
			if err != nil || len(v.List) == 0 { // not a message
				return
			}
			if words := strings.Fields(v.List[len(v.List)-1].Text); len(words) == 5 {
				x.do(func() { n.switched(words) })
				go n.restore(words[4])
			}
		}
	}()
	return nil
}

// switched tells simulated clients about a failover. words are "NAME OLD-IP OLD-PORT NEW-IP NEW-PORT".
func (n *watcher) switched(words []string) {
	old, promoted := n.s.cfg.byPort(words[2]), n.s.cfg.byPort(words[4])
	news := fmt.Sprintf("%s %s %s", shortSwitch, old, promoted)
	for _, conn := range n.subscribers {
		n.s.Host.Push(conn, sim.Key(0).Text(news), []byte(news))
	}
}

// byPort returns the server that other servers reach at the given port, or "" if there is none.
func (f *servers) byPort(port string) sim.ProcessID {
	for name, s := range f.all {
		if strconv.Itoa(s.Port.Number()) == port {
			return name
		}
	}
	return ""
}

// serves handles a simulated client's request to subscribe to short failover messages. It reports whether r was such a
// request.
func (n *watcher) serves(r *sim.Incoming) bool {
	if n == nil || len(r.Args) != 2 || !strings.EqualFold(r.Args[0], "subscribe") || r.Args[1] != shortSwitch {
		return false
	}
	if !slices.Contains(n.subscribers, r.ConnID) {
		n.subscribers = append(n.subscribers, r.ConnID)
	}
	r.Reply(sim.AppendInt(sim.AppendBulk(sim.AppendBulk(sim.AppendArray(nil, 3), "subscribe"), r.Args[1]), 1))
	return true
}

func (n *watcher) forget(conn uint64) {
	if n != nil {
		n.subscribers = slices.DeleteFunc(n.subscribers, func(c uint64) bool { return c == conn })
	}
}

func (n *watcher) endLife() {
	if n != nil {
		n.subscribers = nil
	}
}

// addresses returns a Book that replaces the addresses that servers use among themselves with the simulated servers'
// names and port.
func (f *servers) addresses() *Book {
	to := map[Address]Address{}
	for name, s := range f.all {
		to[Address{Host: "127.0.0.1", Port: strconv.Itoa(s.Port.Number())}] =
			Address{Host: string(name), Port: resp.Port}
	}
	return NewBook(to)
}

// named replaces servers' addresses with their names. raw is a push, or the reply to the given commands.
func (s *Server) named(raw []byte, commands ...[]string) []byte {
	if s.sentinel == nil && !slices.ContainsFunc(commands, NamesServers) {
		return raw
	}
	return s.cfg.names.Translate(raw)
}

// order makes the Sentinel promote the given replica. A Sentinel chooses among the healthy replicas by priority, so
// order gives only this replica a priority. Once the Sentinel knows the priorities, order asks it for a failover. The
// Sentinel aborts a failover if a replica briefly fails to answer, so order repeats the request until the failover has
// happened. order must run on its own goroutine. It also returns when the Sentinel ends.
func (n *watcher) order(x *life, to sim.ProcessID) {
	w, err := n.s.at.dial()
	if err != nil {
		return
	}
	defer w.close()
	g := n.s.cfg.all[to].group
	name := string(g.members[0].name)
	known := false
	for !x.IsOver() {
		if !known {
			n.prefer(g, to)
		}
		master, err := w.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
		if err != nil || len(master.List) == 2 && n.s.cfg.byPort(master.List[1].Text) == to {
			return
		}
		replicas, err := w.ask("SENTINEL", "REPLICAS", name)
		if err != nil {
			return
		}
		if known = n.prefers(replicas, to); known {
			_, _ = w.ask("SENTINEL", "FAILOVER", name) // this fails if a failover is already under way
		}
		time.Sleep(refresh / 10)
	}
}

// prefer gives only one member of a group a priority. It ignores members that do not answer, because the Sentinel
// cannot choose them anyway.
func (n *watcher) prefer(g *group, to sim.ProcessID) {
	for _, m := range g.members {
		m.deaf = !m.prioritize(map[bool]string{true: "100", false: "0"}[m.name == to])
	}
}

// prefers reports whether the Sentinel knows that the given replica is the only one with a priority. replicas is the
// Sentinel's list of replicas. Those that could not be given a priority (see prefer) don't count.
func (n *watcher) prefers(replicas resp.Value, to sim.ProcessID) bool {
	knows := false
	for _, r := range replicas.List {
		fields := map[string]string{}
		for i := 0; i+1 < len(r.List); i += 2 {
			fields[r.List[i].Text] = r.List[i+1].Text
		}
		name := n.s.cfg.byPort(fields["port"])
		s := n.s.cfg.all[name]
		if s == nil { // no server of the scenario: order cannot give it a priority
			continue
		}
		is := name == to
		if (fields["slave-priority"] != "0") != is && !s.deaf {
			return false
		}
		knows = knows || is
	}
	return knows
}

// restore resets the priorities of all servers in a group to the default. port is the new master's port.
func (n *watcher) restore(port string) {
	s := n.s.cfg.all[n.s.cfg.byPort(port)]
	if s == nil {
		return
	}
	for _, m := range s.group.members {
		m.prioritize("100")
	}
}

// prioritize sets a server's replica priority. It reports whether the server answered.
func (s *Server) prioritize(priority string) bool {
	w, err := s.at.dial()
	if err != nil {
		return false
	}
	defer w.close()
	_ = w.conn.SetDeadline(time.Now().Add(refresh))
	_, err = w.ask("CONFIG", "SET", "replica-priority", priority)
	return err == nil
}
