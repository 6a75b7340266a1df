package etcd

import (
	"encoding/json"
	"slices"
	"strings"
)

// namespaces is the prefix of the keys under which the API server stores namespaces.
const namespaces = "/registry/namespaces/"

// ownNamespaces lists the namespaces that exist from the start.
var ownNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// hasNamespace reports whether a namespace exists, as far as this member knows.
func (s *server) hasNamespace(name string) bool {
	return slices.Contains(ownNamespaces, name) || s.store.get(namespaces+name) != nil
}

func noNamespace(name string) *Status {
	s := Failure(404, "NotFound", "namespaces %q not found", name)
	s.Details = &StatusDetails{Name: name, Kind: "namespaces"}
	return s
}

// namespace returns a namespace object as clients see it.
func namespace(name string, revision int64) map[string]any {
	return map[string]any{"kind": "Namespace", "apiVersion": "v1",
		"metadata": map[string]string{"name": name, "resourceVersion": format(revision)},
		"status":   map[string]string{"phase": "Active"}}
}

// serveNamespaces creates and returns namespaces. It refuses all other namespace operations, because they are not
// simulated.
func (q *apiCall) serveNamespaces(name string) *Status {
	switch {
	case q.Method == "GET" && name != "":
		return q.quorumRead(func() *Status {
			if !q.hasNamespace(name) {
				return noNamespace(name)
			}
			revision := int64(firstRevision)
			if k := q.store.get(namespaces + name); k != nil {
				revision = k.Mod
			}
			q.r.Reply(Answer(200, namespace(name, revision)))
			return nil
		})
	case q.Method == "POST" && name == "":
		return q.createNamespace()
	}
	return Failure(501, "NotImplemented", "fencepost: %s of namespaces is not simulated", q.Method)
}

func (q *apiCall) createNamespace() *Status {
	var sent struct{ Metadata struct{ Name string } }
	if err := json.Unmarshal([]byte(q.Body), &sent); err != nil {
		return badRequest("unable to decode request body: %v", err)
	}
	name := sent.Metadata.Name
	if len(name) > 63 || !dnsLabel.MatchString(name) {
		s := Failure(422, "Invalid", "Namespace %q is invalid: metadata.name: Invalid value: %q: %s", name, name,
			notLabel)
		s.Details = &StatusDetails{Name: name, Kind: "Namespace"}
		return s
	}
	taken := Failure(409, "AlreadyExists", "namespaces %q already exists", name)
	taken.Details = &StatusDetails{Name: name, Kind: "namespaces"}
	if slices.Contains(ownNamespaces, name) {
		return taken
	}
	key := namespaces + name
	q.commit(func(revision int64, held bool) *Status {
		if !held {
			return taken
		}
		q.r.Reply(Answer(201, namespace(name, revision)))
		return nil
	}, 0, Op{Kind: Put, Key: key, Value: "{}"})
	return nil
}

// namespaceOf returns the namespace in a path, or "" if the path refers to the collection of all namespaces. ok is
// false if the path is not about namespaces.
func namespaceOf(path string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/api/v1/namespaces")
	name, slashed := strings.CutPrefix(rest, "/")
	return name, ok && (rest == "" || slashed) && !strings.Contains(name, "/")
}
