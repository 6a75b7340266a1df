package etcd

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/http1"
)

// TestTheAPIServerAnswersAsKubernetesDoes checks that each failure has the code, the reason and the message that
// client-go recognizes it by.
func TestTheAPIServerAnswersAsKubernetesDoes(t *testing.T) {
	const in, json = leasesOfDefault, "application/json"
	object := func(version string) string {
		return `{"metadata":{"name":"a"` + version + `},"spec":{"holderIdentity":"me","leaseDurationSeconds":15}}`
	}
	changed := strings.Replace(object(`,"resourceVersion":"2"`), "15", "16", 1)
	steps := []struct {
		request http1.Request
		want    []string
	}{
		{request("GET", in+"/a", "", "", ""), []string{"404 Not Found", `"reason":"NotFound"`, `\"a\" not found`}},
		{request("POST", in, json, "", object("")), []string{"201 Created", `"resourceVersion":"2"`,
			`"holderIdentity":"me"`}},
		{request("POST", in, json, "", object("")), []string{"409 Conflict", `"reason":"AlreadyExists"`,
			"already exists"}},
		{request("PUT", in+"/a", json, "", changed), []string{"200 OK",
			`"resourceVersion":"3"`}},
		{request("PUT", in+"/a", json, "", object(`,"resourceVersion":"2"`)),
			[]string{"409 Conflict", `"reason":"Conflict"`,
				"please apply your changes to the latest version and try again"}},
		{request("PUT", in+"/a", json, "", object("")), []string{"422 ", "must be specified for an update"}},
		{request("PUT", in+"/b", json, "", object("")), []string{"400 ", "does not match the name on the URL"}},
		{request("POST", in, "application/vnd.kubernetes.protobuf", "", "k8s"), []string{"415 ",
			`"reason":"UnsupportedMediaType"`}},
		{request("POST", in, json, "", "{"), []string{"400 ", `"reason":"BadRequest"`}},
		{request("PATCH", in+"/a", json, "", "{}"), []string{"501 ",
			"PATCH of leases.coordination.k8s.io is not simulated"}},
		{request("GET", in+"?labelSelector=a", "", "", ""), []string{"501 ", "labelSelector is not simulated"}},
		{request("GET", "/api/v1/namespaces/default/pods", "", "", ""), []string{"404 ",
			"/api/v1/namespaces/default/pods is not simulated"}},
		{request("GET", in, "", "", ""), []string{"200 OK", `"kind":"LeaseList"`,
			`"metadata":{"resourceVersion":"3"}`}},
		{request("GET", in+"?watch=true&resourceVersion=1", "", "", ""), []string{"Transfer-Encoding: chunked"}},
		{request("DELETE", in+"/a", "", "", ""), []string{"200 OK", `"status":"Success"`}},
	}
	d, pushed := newDesk(t), ""
	d.AddClient("client-1", 0, func(env sim.Env) {
		c := sim.Conn{Server: "etcd-1"}
		for _, s := range steps {
			raw := string(env.Call(time.Minute, nil, sim.Request{Conn: c, Args: s.request.Args(),
				Phase: "api"})[0].Raw())
			for _, want := range s.want {
				if !strings.Contains(raw, want) {
					t.Errorf("%s %s: %s, which lacks %q", s.request.Method, s.request.URI, raw, want)
				}
			}
		}
		for {
			b, status := env.Receive(c, time.Second)
			if status != sim.Answered {
				return
			}
			pushed += string(b)
		}
	})
	d.Run(sim.Time(time.Minute), nil)
	for _, want := range []string{`"type":"ADDED"`, `"type":"MODIFIED"`, `"type":"DELETED"`} {
		if !strings.Contains(pushed, want) {
			t.Errorf("the watch lacks %s: %s", want, pushed)
		}
	}
}

// TestAWatchOfACompactedVersionIsExpired checks that a watch that starts at a compacted version succeeds, but that its
// only event is a failure.
func TestAWatchOfACompactedVersionIsExpired(t *testing.T) {
	create := func(name string) []string {
		r := request("POST", leasesOfDefault, "application/json", "", `{"metadata":{"name":"`+name+`"},"spec":{}}`)
		return r.Args()
	}
	asAPI(t, func(_ *desk, c apiCaller) {
		got, watch := "", request("GET", leasesOfDefault+"?watch=true&resourceVersion=2", "", "", "")
		for _, args := range [][]string{create("a"), create("b"), create("c"),
			Call{Path: Preface}.Args(),
			Call{Path: "/etcdserverpb.KV/Compact", Stream: 1, Message: "\x08\x03"}.Args(),
			watch.Args()} {
			got = string(c.env.Call(time.Minute, nil, sim.Request{Conn: c.conn, Args: args, Phase: "api"})[0].Raw())
		}
		wantIn(t, "the watch", got, "200 OK", `"type":"ERROR"`, `"code":410`, `"reason":"Expired"`,
			"too old resource version: 2 (3)")
	})
}

// request returns an HTTP request to the API server.
func request(method, uri, contentType, accept, body string) http1.Request {
	return http1.Request{Method: method, URI: uri, ContentType: contentType, Accept: accept, Body: body}
}
