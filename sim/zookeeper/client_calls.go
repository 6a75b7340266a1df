package zookeeper

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// The calls below are made on behalf of an attempt, which servers record and which may be empty. In addition to the
// errors that each lists, they fail with ConnectionLoss or OperationTimeout (the outcome is unknown) and
// SessionExpired. If the client is not connected, they return ConnectionLoss at once. When a call returns, the watches
// have fired whose events the server had sent before its reply.

// Create adds a znode and returns its path, including the number of a sequential one. Errors: NodeExists, NoNode (the
// parent), NoChildrenForEphemerals, BadArguments.
func (c *Client) Create(env sim.Env, attempt history.Attempt, path, data string, mode Mode) (string,
	Stat, error) {
	epoch := c.epoch
	a, err := c.ask(env, attempt, "create", ReqCreate, path, data, strconv.Itoa(int(mode)))
	if err != nil {
		return "", Stat{}, err
	}
	c.settle(env, epoch, a.Events)
	return a.Text(0), a.Stat(1), nil
}

// Delete removes a znode. Errors: NoNode, BadVersion, NotEmpty.
func (c *Client) Delete(env sim.Env, attempt history.Attempt, path string, version int64) error {
	epoch := c.epoch
	a, err := c.ask(env, attempt, "delete", ReqDelete, path, strconv.FormatInt(version, 10))
	if err == nil {
		c.settle(env, epoch, a.Events)
	}
	return err
}

// SetData replaces the data of a znode. Errors: NoNode, BadVersion.
func (c *Client) SetData(env sim.Env, attempt history.Attempt, path, data string, version int64) (Stat,
	error) {
	epoch := c.epoch
	a, err := c.ask(env, attempt, "set-data", ReqSetData, path, data, strconv.FormatInt(version, 10))
	if err != nil {
		return Stat{}, err
	}
	c.settle(env, epoch, a.Events)
	return a.Stat(1), nil
}

// Sync brings the member to which the client is connected up to date with the leader.
func (c *Client) Sync(env sim.Env, attempt history.Attempt) error {
	epoch := c.epoch
	a, err := c.ask(env, attempt, "sync", ReqSync)
	if err == nil {
		c.settle(env, epoch, a.Events)
	}
	return err
}

// Exists looks up a znode. Errors: NoNode. If w is not nil, a watch is set in both cases: for the znode's creation, its
// deletion, or new data.
func (c *Client) Exists(env sim.Env, attempt history.Attempt, path string, w *Watch) (Stat, error) {
	a, err := c.look(env, attempt, "exists", ReqExists, path, w)
	if err != nil {
		return Stat{}, err
	}
	return a.Stat(0), nil
}

// GetData reads a znode. Errors: NoNode; no watch is set then.
func (c *Client) GetData(env sim.Env, attempt history.Attempt, path string, w *Watch) (string, Stat, error) {
	a, err := c.look(env, attempt, "get-data", ReqGetData, path, w)
	if err != nil {
		return "", Stat{}, err
	}
	return a.Text(0), a.Stat(1), nil
}

// Children lists the names of a znode's children, sorted. Errors: NoNode; no watch is set then.
func (c *Client) Children(env sim.Env, attempt history.Attempt, path string, w *Watch) ([]string, Stat,
	error) {
	a, err := c.look(env, attempt, "children", ReqChildren, path, w)
	if err != nil {
		return nil, Stat{}, err
	}
	var names []string
	for i := StatLength; i < len(a.List); i++ {
		names = append(names, a.Text(i))
	}
	return names, a.Stat(0), nil
}

// look reads from the member to which the client is connected, and sets a watch if w is not nil.
func (c *Client) look(env sim.Env, attempt history.Attempt, phase, request, path string, w *Watch) (Answer,
	error) {
	epoch, flag := c.epoch, "0"
	if w != nil {
		flag = "1"
	}
	a, err := c.ask(env, attempt, phase, request, path, flag)
	absent := err == NoNode && request == ReqExists
	if err != nil && !absent {
		return a, err
	}
	if w != nil && c.epoch == epoch {
		c.watchers = append(c.watchers,
			watcher{kind: watchKind(request, absent), path: path, watch: w, after: a.Events})
	}
	c.settle(env, epoch, a.Events)
	return a, err
}

func watchKind(request string, absent bool) string {
	switch {
	case request == ReqChildren:
		return WatchChild
	case absent:
		return WatchExists
	}
	return WatchData
}
