package zookeeper

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// Each method below takes the attempt that the call belongs to. Servers record it; it may be empty. In addition to the
// errors listed for it, each method may return SessionExpired, or ConnectionLoss or OperationTimeout if the outcome is
// unknown. If the client is not connected, the method returns ConnectionLoss immediately. When a method returns, all
// watch events that the server sent before its reply have been delivered.

// Create adds a znode, which must not be a container. It returns the znode's path, which includes the number if the
// znode is sequential. Errors: NodeExists, NoNode (if there is no parent), NoChildrenForEphemerals, BadArguments.
func (c *Client) Create(env sim.Env, attempt history.Attempt, path, data string, mode Mode) (string,
	Stat, error) {
	fields := appendACL(jute.Record(nil).Text(path).Text(data), everybody).Int(createFlags[mode])
	a, err := c.do(env, attempt, "create", jute.Create2, fields)
	if err != nil {
		return "", Stat{}, err
	}
	path = a.Text()
	return path, ReadStat(&a.Fields), nil
}

// Delete removes a znode. Errors: NoNode, BadVersion, NotEmpty.
func (c *Client) Delete(env sim.Env, attempt history.Attempt, path string, version int64) error {
	_, err := c.do(env, attempt, "delete", jute.Delete, jute.Record(nil).Text(path).Int(int32(version)))
	return err
}

// SetData replaces a znode's data. Errors: NoNode, BadVersion.
func (c *Client) SetData(env sim.Env, attempt history.Attempt, path, data string, version int64) (Stat,
	error) {
	fields := jute.Record(nil).Text(path).Text(data).Int(int32(version))
	a, err := c.do(env, attempt, "set-data", jute.SetData, fields)
	if err != nil {
		return Stat{}, err
	}
	return ReadStat(&a.Fields), nil
}

// Sync makes the client's member catch up with the leader.
func (c *Client) Sync(env sim.Env, attempt history.Attempt) error {
	_, err := c.do(env, attempt, "sync", jute.Sync, jute.Record(nil).Text(rootNode))
	return err
}

// Exists returns a znode's stat. Errors: NoNode. If w is not nil, Exists sets a watch, even if the znode does not
// exist. The watch fires when the znode is created or deleted or gets new data.
func (c *Client) Exists(env sim.Env, attempt history.Attempt, path string, w *Watch) (Stat, error) {
	a, err := c.look(env, attempt, "exists", jute.Exists, path, w)
	if err != nil {
		return Stat{}, err
	}
	return ReadStat(&a.Fields), nil
}

// GetData reads a znode. Errors: NoNode, in which case no watch is set.
func (c *Client) GetData(env sim.Env, attempt history.Attempt, path string, w *Watch) (string, Stat, error) {
	a, err := c.look(env, attempt, "get-data", jute.GetData, path, w)
	if err != nil {
		return "", Stat{}, err
	}
	data := a.Text()
	return data, ReadStat(&a.Fields), nil
}

// Children returns the sorted names of a znode's children. Errors: NoNode, in which case no watch is set.
func (c *Client) Children(env sim.Env, attempt history.Attempt, path string, w *Watch) ([]string, Stat,
	error) {
	a, err := c.look(env, attempt, "children", jute.GetChildren2, path, w)
	if err != nil {
		return nil, Stat{}, err
	}
	names := a.Texts()
	slices.Sort(names)
	return names, ReadStat(&a.Fields), nil
}

// look reads from the client's member. If w is not nil, it sets a watch.
func (c *Client) look(env sim.Env, attempt history.Attempt, phase string, op jute.Op, path string, w *Watch) (Answer,
	error) {
	epoch := c.epoch
	a, err := c.ask(env, attempt, phase, op, jute.Record(nil).Text(path).Flag(w != nil))
	absent := err == NoNode && op == jute.Exists
	if err != nil && !absent {
		return a, err
	}
	if w != nil && c.epoch == epoch {
		kind := watchData
		switch {
		case op == jute.GetChildren2:
			kind = watchChild
		case absent:
			kind = watchExists
		}
		c.watchers = append(c.watchers, watcher{kind, path, w, a.Pushed})
	}
	c.settle(env, epoch, &a)
	return a, err
}

// do sends a request that does not set a watch.
func (c *Client) do(env sim.Env, attempt history.Attempt, phase string, op jute.Op, fields jute.Record) (Answer,
	error) {
	epoch := c.epoch
	a, err := c.ask(env, attempt, phase, op, fields)
	if err == nil {
		c.settle(env, epoch, &a)
	}
	return a, err
}

// createFlags contains the protocol's flags for each supported Mode.
var createFlags = [...]int32{Persistent: jute.Persistent, PersistentSequential: jute.PersistentSequential,
	Ephemeral: jute.Ephemeral, EphemeralSequential: jute.EphemeralSequential}
