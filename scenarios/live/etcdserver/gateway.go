package etcdserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// gateway is the address at which a member accepts requests as JSON (rpc.proto; 64-bit numbers are strings, and keys
// are in base64).
type gateway struct {
	url  string
	http *http.Client
}

// header is part of every reply.
type header struct {
	Revision int64  `json:"revision,string"`
	Term     uint64 `json:"raft_term,string"`
}

// refused is an error that etcd returned.
type refused struct {
	Text string `json:"error"`
	Code int    `json:"code"` // gRPC code
}

func (e *refused) Error() string { return e.Text }

// final are the gRPC codes for a request that was not and will not be carried out: invalid argument, not found,
// already exists, failed precondition, out of range.
var final = []int{3, 5, 6, 9, 11}

// undone reports whether an error means that the request was not and will not be carried out.
func undone(err error) bool {
	var r *refused
	return errors.As(err, &r) && slices.Contains(final, r.Code)
}

// open sends a request, and returns the stream of its replies.
func (g *gateway) open(ctx context.Context, path string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return g.http.Do(r)
}

// ask sends a request and reads its only reply. An error of etcd is a *refused.
func (g *gateway) ask(ctx context.Context, path string, body, answer any) error {
	r, err := g.open(ctx, path, body)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var e refused
	if r.StatusCode != http.StatusOK {
		if json.Unmarshal(text, &e) == nil && e.Text != "" {
			return &e
		}
		return fmt.Errorf("%s: %s: %.200s", path, r.Status, text)
	}
	return json.Unmarshal(text, answer)
}

// keyValue is a key as the gateway writes it.
type keyValue struct {
	Key     []byte `json:"key"`
	Value   []byte `json:"value"`
	Create  int64  `json:"create_revision,string"`
	Mod     int64  `json:"mod_revision,string"`
	Version int64  `json:"version,string"`
	Lease   int64  `json:"lease,string"`
}

func (k *keyValue) words() *etcd.KeyValue {
	return &etcd.KeyValue{Key: string(k.Key), Value: string(k.Value), Create: k.Create, Mod: k.Mod, Version: k.Version,
		Lease: k.Lease}
}

// fields is a request in the gateway's JSON form.
type fields map[string]any

// interval returns the key range of an operation or a watch.
func interval(key, end string) fields {
	f := fields{"key": []byte(key)}
	if end != "" {
		f["range_end"] = []byte(end)
	}
	return f
}

var sortTargets = map[etcd.Order]string{etcd.ByKey: "KEY", etcd.ByCreate: "CREATE", etcd.ByMod: "MOD"}

// operation converts a range, put or deletion to JSON; name is its name within a txn.
func operation(o *etcd.Op) (name string, f fields) {
	switch f = interval(o.Key, o.End); o.Kind {
	case etcd.Put:
		f["value"] = []byte(o.Value)
		f["lease"] = o.Lease
		return "request_put", f
	case etcd.Delete:
		return "request_delete_range", f
	}
	f["sort_target"], f["sort_order"] = sortTargets[o.Order], "ASCEND"
	if o.Descending {
		f["sort_order"] = "DESCEND"
	}
	f["limit"], f["serializable"] = o.Limit, o.Serializable
	f["min_create_revision"], f["max_create_revision"] = o.MinCreate, o.MaxCreate
	f["min_mod_revision"], f["max_mod_revision"] = o.MinMod, o.MaxMod
	return "request_range", f
}

func operations(ops []etcd.Op) []fields {
	list := []fields{}
	for i := range ops {
		name, f := operation(&ops[i])
		list = append(list, fields{name: f})
	}
	return list
}

var (
	relations = map[byte]string{'=': "EQUAL", '!': "NOT_EQUAL", '<': "LESS", '>': "GREATER"}
	operands  = map[string]string{"CREATE": "create_revision", "MOD": "mod_revision", "VERSION": "version",
		"LEASE": "lease"}
)

// transaction converts a txn to JSON.
func transaction(t *etcd.Txn) fields {
	conditions := []fields{}
	for i := range t.Conditions {
		c := &t.Conditions[i]
		f := fields{"key": []byte(c.Key), "target": c.Target, "result": relations[c.Rel]}
		if c.Target == "VALUE" {
			f["value"] = []byte(c.Text)
		} else {
			f[operands[c.Target]] = c.Number
		}
		conditions = append(conditions, f)
	}
	return fields{"compare": conditions, "success": operations(t.Then), "failure": operations(t.Else)}
}
