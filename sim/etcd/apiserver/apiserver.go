// Package apiserver simulates a Kubernetes API server for clients that run outside the simulation. One API server runs
// on the same node as each etcd member, as in many control planes. The protocol is HTTP/1.1 with JSON.
//
// Goals: everything that client-go's leader election and watches of Lease objects can see, with the real server's
// statuses, reasons and messages. A resourceVersion is etcd's revision. Reads are quorum reads, unless the client asks
// for resourceVersion=0. In that case they show the server's cache, which is up to 10 ms behind the etcd member on the
// same node. It lags further behind if that member is cut off from the others. A watch ends after timeoutSeconds if the
// client specifies it. Like the real server, it refuses invalid objects, names, labels and times, and Lease objects in
// a namespace that does not exist. The namespaces default, kube-node-lease, kube-public and kube-system exist from the
// start, and a client can create others.
//
// Non-goals: resources other than Lease objects and namespaces, which are refused with an error that names them;
// patches; selectors, except for the name of one object; paged lists; finalizers, dry runs, generated names; protobuf,
// which a server is allowed to refuse (415); HTTP/2 and TLS; creation times, since etcd members do not read a wall
// clock; ending a watch without timeoutSeconds after half an hour or more, as the real server does.
package apiserver

import (
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/http1"
)

// mostBody and mostHead are the API server's limits on the body and head of a request, in bytes.
const (
	mostBody = 3 << 20
	mostHead = 1 << 20
)

// Front returns the sim.Front of API servers: their protocol for clients outside the simulation.
func Front() sim.Front {
	tooLong := etcd.Failure(413, "RequestEntityTooLarge", "Request entity too large: limit is %d", mostBody)
	return http1.Front{At: 6443, Longest: mostBody + mostHead, TooLong: string(etcd.Answer(tooLong.Code, tooLong))}
}
