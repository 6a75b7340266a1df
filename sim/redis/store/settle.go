package store

import "github.com/fencepost-sim/fencepost/checker/history"

// Settle updates a key's entry after a change in miniredis.
func (d *Data) Settle(name string, c Change) {
	k := d.keys[name]
	kind := d.DB.Type(name) // empty if the key does not exist
	switch {
	case k == nil || !k.Timed():
	case c.Replaced || kind != "" && kind != "hash":
		d.untimed(name, k)
	case kind == "" && len(k.past) > 0:
		kind = "hash" // every field is hidden
	}
	switch {
	case kind == "" && k == nil:
		return
	case kind == "" && c.Expired:
		d.settleMembers(name, k, c)
		d.dropEntry(name, k, history.Expired, "")
		return
	case kind == "":
		d.dropEntry(name, k, history.Deleted, d.Attempt)
		return
	}
	made, was := k == nil, history.Attempt("")
	if k != nil {
		was = k.of
	}
	if k == nil {
		k = d.add(name, d.Attempt, kind == "string")
	}
	if !made && k.members == nil && hasMembers(kind) {
		d.overwrite(name, k, true)
	}
	if c.Replaced {
		d.expireAt(name, k, Never)
		k.of, k.Text = d.Attempt, kind == "string"
	}
	if k.Value, k.lent = "", k.Text; k.Text {
		k.Value, _ = d.DB.Get(name)
	}
	switch {
	case hasMembers(kind) && k.members == nil:
		k.members = map[string]history.Attempt{}
		d.settleMembers(name, k, c)
	case hasMembers(kind):
		d.settleMembers(name, k, c)
	case made || c.Replaced:
		d.recordSet(name, k.Value, k, was)
	}
	if made && kind == "list" {
		d.node.ListMade(name)
	}
	d.node.Changed(name, false)
}
