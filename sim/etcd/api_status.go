package etcd

import (
	"encoding/json"
	"fmt"

	"github.com/fencepost-sim/fencepost/sim/http1"
)

// Status is the reply to a delete request, or to any request that fails (k8s.io/apimachinery, pkg/apis/meta/v1).
type Status struct {
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Metadata   struct{}       `json:"metadata"`
	Status     string         `json:"status"`
	Message    string         `json:"message,omitempty"`
	Reason     string         `json:"reason,omitempty"`
	Details    *StatusDetails `json:"details,omitempty"`
	Code       int            `json:"code,omitempty"`
}

// StatusDetails identifies the object that a Status is about.
type StatusDetails struct {
	Name  string `json:"name,omitempty"`
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind,omitempty"`
	UID   string `json:"uid,omitempty"`
}

// Failure returns the Status for a failed request.
func Failure(code int, reason, format string, args ...any) *Status {
	return &Status{Kind: "Status", APIVersion: "v1", Status: "Failure", Message: fmt.Sprintf(format, args...),
		Reason: reason, Code: code}
}

// withName stores a Lease object's name in a Status's details.
func (s *Status) withName(name string) *Status {
	s.Details = &StatusDetails{Name: name, Group: "coordination.k8s.io", Kind: "leases"}
	return s
}

func notFound(name string) *Status {
	return Failure(404, "NotFound", "%s %q not found", leasesResource, name).withName(name)
}

func exists(name string) *Status {
	return Failure(409, "AlreadyExists", "%s %q already exists", leasesResource, name).withName(name)
}

func conflict(name string) *Status {
	return Failure(409, "Conflict",
		"Operation cannot be fulfilled on %s %q: the object has been modified; "+
			"please apply your changes to the latest version and try again", leasesResource, name).withName(name)
}

// conflictBecause returns a conflict with a reason other than an outdated version.
func conflictBecause(resource, name, format string, args ...any) *Status {
	return Failure(409, "Conflict", "Operation cannot be fulfilled on %s %q: %s", resource, name,
		fmt.Sprintf(format, args...)).withName(name)
}

func invalid(name, format string, args ...any) *Status {
	s := Failure(422, "Invalid", "Lease.coordination.k8s.io %q is invalid: "+format, append([]any{name}, args...)...)
	s.Details = &StatusDetails{Name: name, Group: "coordination.k8s.io", Kind: "Lease"}
	return s
}

func badRequest(format string, args ...any) *Status {
	return Failure(400, "BadRequest", format, args...)
}

// Answer encodes an API server reply with a JSON body.
func Answer(code int, body any) []byte {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // cannot happen: objects come from JSON, and statuses contain only strings and numbers
	}
	return http1.Reply(code, append(b, '\n'), jsonType)
}

const jsonType = "Content-Type: application/json"
