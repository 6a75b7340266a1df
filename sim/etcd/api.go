package etcd

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/http1"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// The path of the API group for Lease objects, and the names used for it in replies.
const (
	leasesRoot     = "/apis/coordination.k8s.io/v1/"
	leasesResource = "leases.coordination.k8s.io"
	leasesVersion  = "coordination.k8s.io/v1"
)

// object is a Lease object as the API server's clients see it.
type object struct {
	Kind       string         `json:"kind,omitempty"`
	APIVersion string         `json:"apiVersion,omitempty"`
	Metadata   map[string]any `json:"metadata"`
	Spec       map[string]any `json:"spec"`
}

func (l *object) text(field string) string {
	text, _ := l.Metadata[field].(string)
	return text
}

// apiCall is a request that an API server has received.
type apiCall struct {
	http1.Request
	*server
	m               *raft.Member
	r               *sim.Incoming
	query           url.Values
	namespace, name string
	only            string // name of the only object wanted from a collection (fieldSelector); empty if all are wanted
}

// serveAPI handles a request to the API server.
func (s *server) serveAPI(m *raft.Member, r *sim.Incoming) {
	q := &apiCall{server: s, m: m, r: r}
	failed, ok := badRequest("malformed request"), false
	if q.Request, ok = http1.Read(r.Args); ok {
		failed = q.serve()
	}
	if failed != nil {
		q.fail(failed)
	}
}

func (q *apiCall) fail(s *Status) { q.r.Reply(Answer(s.Code, s)) }

// serve handles the request. It either replies, now or later, or returns a failure.
func (q *apiCall) serve() *Status {
	if u, err := url.ParseRequestURI(q.URI); err == nil {
		if name, is := namespaceOf(u.Path); is {
			return q.serveNamespaces(name)
		}
	}
	if failed := q.route(); failed != nil {
		return failed
	}
	watches := q.query.Get("watch")
	switch {
	case q.Accept != "" && !strings.Contains(q.Accept, "application/json") && !strings.Contains(q.Accept, "*/*"):
		return Failure(406, "NotAcceptable", "only the following media types are accepted: application/json")
	case q.Method == "GET" && q.name != "":
		return q.get()
	case q.Method == "GET" && (watches == "true" || watches == "1"):
		return q.watch()
	case q.Method == "GET":
		return q.list()
	case q.Method == "POST" && q.name == "":
		return q.create()
	case q.Method == "PUT" && q.name != "":
		return q.update()
	case q.Method == "DELETE" && q.name != "":
		return q.delete()
	case q.Method == "PATCH" && q.name != "", q.Method == "DELETE":
		return Failure(501, "NotImplemented", "fencepost: %s of %s is not simulated", q.Method, leasesResource)
	}
	return Failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
}

// options lists the query options that are accepted. Some of them have no effect, because they are only hints to the
// server.
var options = []string{"watch", "resourceVersion", "timeout", "timeoutSeconds", "allowWatchBookmarks", "fieldManager",
	"resourceVersionMatch", "fieldValidation", "limit", "fieldSelector"}

// route parses the path to find the object or collection that the request is about.
func (q *apiCall) route() *Status {
	u, err := url.ParseRequestURI(q.URI)
	if err != nil {
		return badRequest("%v", err)
	}
	q.query = u.Query()
	path, ours := strings.CutPrefix(u.Path, leasesRoot)
	parts := strings.Split(path, "/")
	switch {
	case !ours && (strings.HasPrefix(u.Path, "/api/") || strings.HasPrefix(u.Path, "/apis/")),
		ours && !slices.Contains(parts, "leases"):
		return Failure(404, "NotFound", "the server could not find the requested resource (fencepost: "+
			"%s is not simulated; %s is)", u.Path, leasesResource)
	case !ours:
		return Failure(404, "NotFound", "the server could not find the requested resource")
	case len(parts) == 1:
	case parts[0] == "namespaces" && len(parts) == 3 && parts[2] == "leases":
		q.namespace = parts[1]
	case parts[0] == "namespaces" && len(parts) == 4 && parts[2] == "leases":
		q.namespace, q.name = parts[1], parts[3]
	default:
		return Failure(404, "NotFound", "the server could not find the requested resource")
	}
	for _, name := range slices.Sorted(maps.Keys(q.query)) {
		if !slices.Contains(options, name) {
			return Failure(501, "NotImplemented", "fencepost: the option %s is not simulated", name)
		}
	}
	return q.selectField(q.query.Get("fieldSelector"))
}

// selectField restricts a collection to one object. Clients that watch a single object use this.
func (q *apiCall) selectField(selector string) *Status {
	if selector == "" {
		return nil
	}
	name, ok := strings.CutPrefix(selector, "metadata.name=")
	if !ok || q.namespace == "" || strings.ContainsAny(name, "=,!") {
		return Failure(501, "NotImplemented", "fencepost: the fieldSelector %s is not simulated, "+
			"only metadata.name=NAME in a namespace", selector)
	}
	q.only = name
	return nil
}

func (q *apiCall) key() string { return LeaseObjects + q.namespace + "/" + q.name }

// objectOf decodes the object in a key's value. It adds the fields that clients see but that are not in the value.
func objectOf(k *KeyValue) *object {
	var l object
	if json.Unmarshal([]byte(k.Value), &l) != nil {
		l.Spec = map[string]any{}
	}
	l.Kind, l.APIVersion = "Lease", leasesVersion
	if l.Metadata == nil { // the value was written directly to etcd
		namespace, name, _ := strings.Cut(strings.TrimPrefix(k.Key, LeaseObjects), "/")
		l.Metadata = map[string]any{"namespace": namespace, "name": name}
	}
	l.Metadata["resourceVersion"] = format(k.Mod)
	return &l
}

// quorumRead calls f once this member has caught up with the cluster, so that f reads the latest committed data.
func (q *apiCall) quorumRead(f func() *Status) *Status {
	q.m.ReadIndex(func(err error) {
		failed := Failure(500, "InternalError", "%s", errTimeout.Text)
		if err == nil {
			failed = f()
		}
		if failed != nil {
			q.fail(failed)
		}
	})
	return nil
}

func (q *apiCall) get() *Status {
	return q.view(func(keys []keyValue, _ int64) *Status {
		i, found := find(keys, q.key())
		if !found {
			return notFound(q.name)
		}
		q.r.Reply(Answer(200, objectOf(&keys[i].KeyValue)))
		return nil
	})
}

// keyRange returns the range of keys that a request is about: one object, all objects in a namespace, or all objects.
func (q *apiCall) keyRange() (key, end string) {
	key = LeaseObjects
	if q.namespace != "" {
		key += q.namespace + "/"
	}
	if q.only != "" {
		return key + q.only, ""
	}
	return key, prefixEnd(key)
}

func (q *apiCall) list() *Status {
	return q.view(func(keys []keyValue, revision int64) *Status {
		items := []*object{}
		key, end := q.keyRange()
		from, to := span(keys, key, end)
		for i := from; i < to; i++ {
			item := objectOf(&keys[i].KeyValue)
			item.Kind, item.APIVersion = "", "" // kind and version appear once, in the list itself
			items = append(items, item)
		}
		q.r.Reply(Answer(200, map[string]any{"kind": "LeaseList", "apiVersion": leasesVersion, "items": items,
			"metadata": map[string]string{"resourceVersion": format(revision)}}))
		return nil
	})
}

// bodyObject decodes and checks the object in the request's body. If the object's content is invalid, bodyObject
// returns both the object and the failure, because the API server checks the namespace and the version before the
// content.
func (q *apiCall) bodyObject() (l *object, failed *Status) {
	media, _, _ := strings.Cut(q.ContentType, ";")
	if media != "" && strings.TrimSpace(media) != "application/json" {
		return nil, Failure(415, "UnsupportedMediaType",
			"the body of the request was in an unknown format - accepted media types include: application/json")
	}
	if l, failed = readObject(q.Body, q.query.Get("fieldValidation") == "Strict"); failed != nil {
		return nil, failed
	}
	switch {
	case l.Kind != "" && l.Kind != "Lease":
		return nil, badRequest("no kind %q is registered for version %q", l.Kind, leasesVersion)
	case l.APIVersion != "" && l.APIVersion != leasesVersion:
		return nil, badRequest("the API version in the data (%s) does not match the expected API version (%s)",
			l.APIVersion, leasesVersion)
	}
	name := l.text("name")
	switch namespace := l.text("namespace"); {
	case name == "" && l.text("generateName") != "":
		return nil, Failure(501, "NotImplemented", "fencepost: generateName is not simulated: give a name")
	case name == "" && q.name != "":
		return nil, badRequest("the name of the object (%s based on URL) was undeterminable: name must be provided",
			q.name)
	case name == "":
		return nil, invalid("", "metadata.name: Required value: name or generateName is required")
	case q.name != "" && name != q.name:
		return nil, badRequest("the name of the object (%s) does not match the name on the URL (%s)", name, q.name)
	case namespace != "" && namespace != q.namespace:
		return nil, badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	q.name = name
	l.Metadata["namespace"] = q.namespace
	return l, q.check(l)
}

// encode encodes the object as a key's value.
func (l *object) encode() string {
	delete(l.Metadata, "resourceVersion")
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // cannot happen: the object was decoded from JSON
	}
	return string(b)
}

func (q *apiCall) create() *Status {
	l, failed := q.bodyObject()
	if l == nil {
		return failed
	}
	put := func() *Status {
		switch {
		case failed != nil:
			return failed
		case l.text("resourceVersion") != "":
			return Failure(500, "", "resourceVersion should not be set on objects to be created")
		}
		q.put(l, 0, func() *Status { return exists(q.name) })
		return nil
	}
	if slices.Contains(ownNamespaces, q.namespace) {
		return put()
	}
	return q.quorumRead(func() *Status {
		if !q.hasNamespace(q.namespace) {
			return noNamespace(q.namespace)
		}
		return put()
	})
}

// put writes the object if its key has the given version. Version 0 means that the key must not exist. If this
// condition is not met, put replies with fallback's result.
func (q *apiCall) put(l *object, version int64, fallback func() *Status) {
	code := 200
	if version == 0 {
		code = 201
		q.lastUID++
		l.Metadata["uid"] = fmt.Sprintf("00000000-0000-4000-%04x-%012x", 0x8000|q.m.Number(), q.m.Life()<<32|q.lastUID)
		l.Metadata["creationTimestamp"] = nil // null: it would come from a wall clock, which members do not read
	}
	l.Kind, l.APIVersion = "Lease", leasesVersion
	value := l.encode()
	q.commit(func(revision int64, held bool) *Status {
		if !held {
			return fallback()
		}
		q.r.Reply(Answer(code, objectOf(&KeyValue{Key: q.key(), Value: value, Mod: revision})))
		return nil
	}, version, Op{Kind: Put, Key: q.key(), Value: value})
}

// commit proposes operation o, which is executed only if its key has the given version (0: only if the key does not
// exist). When the proposal has been answered, commit calls done with the revision in the answer. held says whether the
// key had that version. If done returns a failure, the API call fails with it.
func (q *apiCall) commit(done func(revision int64, held bool) *Status, version int64, o Op) {
	txn := &Txn{Conditions: []Compare{{Target: "MOD", Key: o.Key, Rel: '=', Number: version}}, Then: []Op{o}}
	q.propose(q.m, q.r.Attempt, txn, func(message []byte, err error) {
		failed := Failure(500, "InternalError", "%s", errTimeout.Text)
		if response, unread := (&Call{Path: txnPath}).ReadMessage(string(message)); err == nil && unread == nil {
			failed = done(response.Revision, response.Succeeded)
		}
		if failed != nil {
			q.fail(failed)
		}
	})
}

// update replaces an object if it still has the version given in the request. An update without a version is rejected
// if the object exists. If the object does not exist, update creates it, as the API server does for Lease objects.
func (q *apiCall) update() *Status {
	l, failed := q.bodyObject()
	if l == nil {
		return failed
	}
	version, err := strconv.ParseInt("0"+l.text("resourceVersion"), 10, 64)
	if err != nil {
		return invalid(q.name,
			"metadata.resourceVersion: Invalid value: %q: strconv.ParseUint: parsing: invalid syntax",
			l.text("resourceVersion"))
	}
	q.quorumRead(func() *Status {
		k, uid := q.store.get(q.key()), l.text("uid")
		was := ""
		if k != nil {
			was = objectOf(&k.KeyValue).text("uid")
		}
		switch {
		case uid != "" && uid != was:
			return conflictBecause(leasesResource, q.name, "StorageError: invalid object, Code: "+
				"4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "+
				"UID in precondition: %s, UID in object meta: %s", strings.Replace(q.key(), "//", "/", 1), uid, was)
		case k == nil && !q.hasNamespace(q.namespace):
			return noNamespace(q.namespace)
		case k == nil && failed == nil:
			q.put(l, 0, func() *Status { return conflict(q.name) })
			return nil
		case k == nil:
			return failed
		case version == 0:
			return invalid(q.name, "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update")
		case version != k.Mod:
			return conflict(q.name)
		case failed != nil:
			return failed
		}
		old := objectOf(&k.KeyValue)
		for _, field := range []string{"uid", "creationTimestamp"} {
			l.Metadata[field] = old.Metadata[field]
		}
		// the object is unchanged, so watchers do not get an event
		if l.Kind, l.APIVersion = "Lease", leasesVersion; l.encode() == k.Value {
			q.r.Reply(Answer(200, old))
			return nil
		}
		q.put(l, version, func() *Status { return conflict(q.name) })
		return nil
	})
	return nil
}

func (q *apiCall) delete() *Status {
	var o struct {
		Preconditions struct{ UID, ResourceVersion *string }
	}
	if q.Body != "" && json.Unmarshal([]byte(q.Body), &o) != nil {
		return badRequest("unable to decode request body")
	}
	return q.quorumRead(func() *Status {
		k := q.store.get(q.key())
		if k == nil {
			return notFound(q.name)
		}
		uid, version, wants := objectOf(&k.KeyValue).text("uid"), format(k.Mod), o.Preconditions
		switch {
		case wants.UID != nil && *wants.UID != uid:
			return conflictBecause("Lease.coordination.k8s.io", q.name,
				"the UID in the precondition (%s) does not match the UID in record (%s). "+
					"The object might have been deleted and then recreated", *wants.UID, uid)
		case wants.ResourceVersion != nil && *wants.ResourceVersion != version:
			return conflictBecause("Lease.coordination.k8s.io", q.name,
				"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
					"The object might have been modified",
				*wants.ResourceVersion, version)
		}
		done := &Status{Kind: "Status", APIVersion: "v1", Status: "Success"}
		done.withName(q.name).Details.UID = uid
		q.commit(func(_ int64, held bool) *Status {
			if !held {
				return conflict(q.name)
			}
			q.r.Reply(Answer(200, done))
			return nil
		}, k.Mod, Op{Kind: Delete, Key: q.key()})
		return nil
	})
}
