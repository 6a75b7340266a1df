package redis

import "github.com/fencepost-sim/fencepost/checker/history"

// settle brings the entry of a key into line with what miniredis now has.
func (d *dataset) settle(name string, c change) {
	k := d.keys[name]
	kind := d.DB.Type(name) // empty if there is none
	switch {
	case kind == "" && k == nil:
		return
	case kind == "" && c.expired:
		d.gone(name, k, history.Expired, "")
		return
	case kind == "":
		d.gone(name, k, history.Deleted, d.attempt)
		return
	}
	made := k == nil
	if k == nil {
		k = d.add(name, d.attempt, kind == "string")
	}
	if !made && k.members == nil && hasMembers(kind) {
		d.overwrite(name, k, true)
	}
	if c.replaced {
		d.expireAt(name, k, never)
		k.of, k.text = d.attempt, kind == "string"
	}
	switch {
	case hasMembers(kind) && k.members == nil:
		k.members = map[string]history.Attempt{}
		d.settleMembers(name, k, c)
	case hasMembers(kind):
		d.settleMembers(name, k, c)
	case made || c.replaced:
		d.recordSet(name, d.valueOf(name, k), k)
	}
	d.node.Changed(name)
}

// valueOf is the value of a key as records give it: empty unless it is a string.
func (d *dataset) valueOf(name string, k *key) string {
	if !k.text {
		return ""
	}
	return d.get(name)
}
