package etcd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

const leasesOfDefault = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

// apiCaller sends requests to an API server.
type apiCaller struct {
	env  sim.Env
	conn sim.Conn
}

func (c apiCaller) ask(method, uri, body string) string {
	r := request(method, uri, "application/json", "", body)
	return string(c.env.Call(time.Minute, nil, sim.Request{Conn: c.conn, Args: r.Args(), Phase: "api"})[0].Raw())
}

// fieldOf returns the value of the first field with the given name in a reply, as text.
func fieldOf(answer, name string) string {
	_, rest, _ := strings.Cut(answer, `"`+name+`":"`)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

// asAPI runs f as an API server client.
func asAPI(t *testing.T, f func(d *desk, c apiCaller)) {
	t.Helper()
	d, done := newDesk(t), false
	d.AddClient("client-1", 0, func(env sim.Env) {
		f(d, apiCaller{env, sim.Conn{Server: "etcd-1"}})
		done = true
	})
	d.Run(sim.Time(time.Hour), func() bool { return done })
	if d.World.Finish(); d.Err() != nil || !done {
		t.Fatal("the run did not end: ", d.Err())
	}
}

func wantIn(t *testing.T, what, answer string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(answer, w) {
			t.Errorf("%s: %q lacks %q", what, answer, w)
		}
	}
}

// TestObjectsThatKubernetesRefuses checks that invalid objects get the same replies as from kube-apiserver 1.33.13.
func TestObjectsThatKubernetesRefuses(t *testing.T) {
	const microseconds = `as \"2006-01-02T15:04:05.000000Z07:00\"`
	for i, test := range []struct {
		metadata, spec string
		want           []string
	}{
		{`"name":"NAME"`, `"holderIdentity":"a","leaseDurationSeconds":15,"renewTime":"2026-01-01T00:00:00.123456Z"`,
			[]string{"201 Created", "2026-01-01T00:00:00.123456Z"}},
		{`"name":"NAME"`, `"renewTime":"2026-01-01T02:00:00.123456+02:00"`, []string{"201 Created",
			"2026-01-01T00:00:00.123456Z"}},
		{`"name":"NAME"`, `"renewTime":null,"leaseTransitions":null`, []string{"201 Created"}},
		{`"name":"NAME"`, `"renewTime":"2026-01-01T00:00:00.123Z"`, []string{"400 ", "cannot be handled as a Lease",
			`parsing time \"2026-01-01T00:00:00.123Z\" ` + microseconds}},
		{`"name":"NAME"`, `"renewTime":"2026-01-01T00:00:00Z"`, []string{"400 ", microseconds}},
		{`"name":"NAME"`, `"acquireTime":"2026-01-01T00:00:00.123456789Z"`, []string{"400 ", microseconds}},
		{`"name":"NAME"`, `"renewTime":"2026-01-01T00:00:00.123456"`, []string{"400 ", microseconds}},
		{`"name":"NAME"`, `"renewTime":""`, []string{"400 ", microseconds}},
		{`"name":"NAME"`, `"renewTime":5`, []string{"400 ", "cannot unmarshal number into Go value of type string"}},
		{`"name":"NAME"`, `"leaseDurationSeconds":"15"`, []string{"400 ",
			"json: cannot unmarshal string into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32"}},
		{`"name":"NAME"`, `"leaseDurationSeconds":15.0`, []string{"400 ", "number 15.0 into"}},
		{`"name":"NAME"`, `"leaseDurationSeconds":1.5`, []string{"400 ", "number 1.5 into"}},
		{`"name":"NAME"`, `"leaseDurationSeconds":2147483648`, []string{"400 ", "number 2147483648 into"}},
		{`"name":"NAME"`, `"leaseDurationSeconds":0`, []string{"422 ", "must be greater than 0"}},
		{`"name":"NAME"`, `"leaseTransitions":"1"`, []string{"400 ", "leaseTransitions of type int32"}},
		{`"name":"NAME"`, `"leaseTransitions":-1`, []string{"422 ", "must be greater than or equal to 0"}},
		{`"name":"NAME"`, `"holderIdentity":5`, []string{"400 ", "holderIdentity of type string"}},
		{`"name":"NAME","labels":{"app":"a"}`, ``, []string{"201 Created"}},
		{`"name":"NAME","labels":{"bad key!":"a"}`, ``, []string{"422 ", "name part must consist of"}},
		{`"name":"NAME","labels":{"a":"bad value!"}`, ``, []string{"422 ", "a valid label must be"}},
		{`"name":"NAME","labels":{"a":5}`, ``, []string{"400 ", "of type string"}},
		{`"name":"UPPER"`, ``, []string{"422 ", "a lowercase RFC 1123 subdomain must consist of"}},
		{`"name":"a_b"`, ``, []string{"422 ", `metadata.name: Invalid value: \"a_b\"`}},
		{`"name":"orders:42"`, ``, []string{"422 ", `Lease.coordination.k8s.io \"orders:42\" is invalid`}},
		{`"name":"a/b"`, ``, []string{"422 "}},
		{`"name":"-a"`, ``, []string{"422 "}},
		{`"name":"` + strings.Repeat("a", 253) + `"`, ``, []string{"201 Created"}},
		{`"name":"` + strings.Repeat("a", 254) + `"`, ``, []string{"422 ", "must be no more than 253 characters"}},
		{`"name":""`, ``, []string{"422 ", "name or generateName is required"}},
		{`"generateName":"a-"`, ``, []string{"501 ", "fencepost: generateName is not simulated"}},
	} {
		asAPI(t, func(_ *desk, c apiCaller) {
			body := strings.ReplaceAll(fmt.Sprintf(`{"metadata":{%s},"spec":{%s}}`, test.metadata, test.spec), "NAME",
				fmt.Sprint("lease-", i))
			wantIn(t, body, c.ask("POST", leasesOfDefault, body), test.want...)
		})
	}
}

// TestTheFirstOfSeveralOptionsIsNamed checks that the reply does not depend on the order of a Go map.
func TestTheFirstOfSeveralOptionsIsNamed(t *testing.T) {
	asAPI(t, func(_ *desk, c apiCaller) {
		for range 50 {
			answer := c.ask("GET", leasesOfDefault+"?dryRun=All&pretty=true&labelSelector=a&force=true", "")
			wantIn(t, "an answer", answer, "the option dryRun is not simulated")
		}
	})
}

// TestIdentityOfAnObjectIsCompared checks that a delete or update request that specifies an object's UID is refused
// once this object has been replaced or deleted.
func TestIdentityOfAnObjectIsCompared(t *testing.T) {
	asAPI(t, func(_ *desk, c apiCaller) {
		one := leasesOfDefault + "/t"
		object := func(uid, version string) string {
			return fmt.Sprintf(`{"metadata":{"name":"t","uid":%q,"resourceVersion":%q},"spec":{}}`, uid, version)
		}
		precondition := func(uid string) string { return fmt.Sprintf(`{"preconditions":{"uid":%q}}`, uid) }
		first := c.ask("POST", leasesOfDefault, `{"metadata":{"name":"t"},"spec":{}}`)
		old := fieldOf(first, "uid")
		wantIn(t, "delete the object that there is", c.ask("DELETE", one, precondition(old)), "200 OK")
		wantIn(t, "update an object that is gone", c.ask("PUT", one, object(old, fieldOf(first, "resourceVersion"))),
			"409 ", "Precondition failed: UID in precondition: "+old+", UID in object meta: ")
		second := c.ask("POST", leasesOfDefault, `{"metadata":{"name":"t"},"spec":{}}`)
		wantIn(t, "delete another object", c.ask("DELETE", one, precondition(old)), "409 Conflict",
			"the UID in the precondition ("+old+") does not match the UID in record ("+fieldOf(second, "uid")+")")
		wantIn(t, "update another object", c.ask("PUT", one, object(old, fieldOf(second, "resourceVersion"))), "409 ",
			"UID in object meta: "+fieldOf(second, "uid"))
		wantIn(t, "what is there", c.ask("GET", one, ""), "200 OK", fieldOf(second, "uid"))
		wantIn(t, "update by the right identity",
			c.ask("PUT", one, object(fieldOf(second, "uid"), fieldOf(second, "resourceVersion"))), "200 OK")
	})
}

// TestUnchangedObjectKeepsItsVersion checks that an update that does not change the object does not change its version.
func TestUnchangedObjectKeepsItsVersion(t *testing.T) {
	asAPI(t, func(_ *desk, c apiCaller) {
		one := leasesOfDefault + "/t"
		first := c.ask("POST", leasesOfDefault, `{"metadata":{"name":"t"},"spec":{"holderIdentity":"a"}}`)
		version := fieldOf(first, "resourceVersion")
		put := func(holder string) string {
			return c.ask("PUT", one, fmt.Sprintf(
				`{"metadata":{"name":"t","resourceVersion":%q},"spec":{"holderIdentity":%q}}`, version, holder))
		}
		if got := fieldOf(put("a"), "resourceVersion"); got != version {
			t.Errorf("unchanged, the version is %s and was %s", got, version)
		}
		if got := fieldOf(put("b"), "resourceVersion"); got == version {
			t.Error("changed, the version stays")
		}
	})
}

// TestFieldsThatThereAreNot checks that an object's unknown fields are dropped or, if the client requests strict
// checks, refused.
func TestFieldsThatThereAreNot(t *testing.T) {
	asAPI(t, func(_ *desk, c apiCaller) {
		body := `{"metadata":{"name":"t"},"spec":{"holderIdentity":"a","HolderIdentity":"b","foo":1}}`
		wantIn(t, "strict", c.ask("POST", leasesOfDefault+"?fieldValidation=Strict", body), "400 ",
			`strict decoding error: unknown field \"spec.HolderIdentity\"`)
		got := c.ask("POST", leasesOfDefault, body)
		wantIn(t, "lenient", got, "201 ", `"spec":{"holderIdentity":"a"}`)
		beta := strings.Replace(leasesOfDefault, "v1", "v1beta1", 1)
		wantIn(t, "a version that is not simulated", c.ask("GET", beta, ""), "404 ",
			"the server could not find the requested resource", beta+" is not simulated")
		wantIn(t, "another version in the object", c.ask("POST", leasesOfDefault,
			`{"apiVersion":"coordination.k8s.io/v1beta1","kind":"Lease","metadata":{"name":"u"}}`), "400 ",
			"the API version in the data (coordination.k8s.io/v1beta1) does not match the expected API version "+
				"(coordination.k8s.io/v1)")
	})
}

// TestNamespacesMustBeThere creates an object in a namespace, once before the namespace exists and once after. Only the
// second attempt succeeds.
func TestNamespacesMustBeThere(t *testing.T) {
	asAPI(t, func(_ *desk, c apiCaller) {
		in := strings.Replace(leasesOfDefault, "default", "shop", 1)
		const lease = `{"metadata":{"name":"t"},"spec":{}}`
		wantIn(t, "create", c.ask("POST", in, lease), "404 ", `namespaces \"shop\" not found`)
		wantIn(t, "create by an update", c.ask("PUT", in+"/t", lease), "404 ", `namespaces \"shop\" not found`)
		wantIn(t, "read", c.ask("GET", in+"/t", ""), "404 ", `leases.coordination.k8s.io \"t\" not found`)
		wantIn(t, "list", c.ask("GET", in, ""), "200 ", `"items":[]`)
		wantIn(t, "no name of a namespace", c.ask("POST", "/api/v1/namespaces", `{"metadata":{"name":"a.b"}}`), "422 ")
		wantIn(t, "make it", c.ask("POST", "/api/v1/namespaces", `{"metadata":{"name":"shop"}}`), "201 Created")
		wantIn(t, "make it again", c.ask("POST", "/api/v1/namespaces", `{"metadata":{"name":"shop"}}`), "409 ")
		wantIn(t, "see it", c.ask("GET", "/api/v1/namespaces/shop", ""), "200 OK", `"name":"shop"`)
		wantIn(t, "create then", c.ask("POST", in, lease), "201 Created")
		wantIn(t, "one that is always there", c.ask("GET", "/api/v1/namespaces/kube-system", ""), "200 OK")
		wantIn(t, "anything else", c.ask("DELETE", "/api/v1/namespaces/shop", ""), "501 ", "not simulated")
	})
}

// TestReadsOfVersionZeroMayBeStale reads an object right after an update. With resourceVersion=0, some reads return the
// previous object. They never return an object that was replaced at least the cache's maximum lag ago. Without
// resourceVersion=0, no read is stale. A member that is cut off keeps returning its last state.
func TestReadsOfVersionZeroMayBeStale(t *testing.T) {
	asAPI(t, func(d *desk, c apiCaller) {
		one := leasesOfDefault + "/t"
		version := fieldOf(c.ask("POST", leasesOfDefault, `{"metadata":{"name":"t"},"spec":{}}`), "resourceVersion")
		stale := map[string]int{}
		for i := range 200 {
			object := fmt.Sprintf(`{"metadata":{"name":"t","resourceVersion":%q},"spec":{"holderIdentity":"%d"}}`,
				version, i)
			version = fieldOf(c.ask("PUT", one, object), "resourceVersion")
			for _, uri := range []string{one + "?resourceVersion=0", one} {
				if fieldOf(c.ask("GET", uri, ""), "resourceVersion") != version {
					stale[uri]++
				}
			}
			c.env.Sleep(cacheLag)
			if fieldOf(c.ask("GET", one+"?resourceVersion=0", ""), "resourceVersion") != version {
				t.Error("stale for longer than a cache may be behind")
			}
		}
		if n := stale[one+"?resourceVersion=0"]; n < 20 || n == 200 || stale[one] > 0 {
			t.Errorf("of 200 reads right after an update stale were %v", stale)
		}
		d.Cut("etcd-3", "etcd-1")
		d.Cut("etcd-1", "etcd-3")
		d.Cut("etcd-3", "etcd-2")
		d.Cut("etcd-2", "etcd-3")
		c.ask("DELETE", one, "")
		c.env.Sleep(time.Minute)
		c.conn.Server = "etcd-3"
		wantIn(t, "cut off", c.ask("GET", one+"?resourceVersion=0", ""), "200 OK", `"resourceVersion":"`+version+`"`)
	})
}

// TestWatchEndsAfterItsTime watches one object for three seconds. The watch must report only this object's changes
// within that time.
func TestWatchEndsAfterItsTime(t *testing.T) {
	asAPI(t, func(_ *desk, c apiCaller) {
		c.ask("POST", leasesOfDefault, `{"metadata":{"name":"other"},"spec":{}}`)
		watch := apiCaller{c.env, sim.Conn{Server: "etcd-1", N: 1}}
		wantIn(t, "the watch", watch.ask("GET",
			leasesOfDefault+"?watch=true&timeoutSeconds=3&fieldSelector=metadata.name%3Dt", ""), "200 OK", "chunked")
		c.ask("POST", leasesOfDefault, `{"metadata":{"name":"t"},"spec":{}}`)
		c.env.Sleep(4 * time.Second)
		c.ask("DELETE", leasesOfDefault+"/t", "")
		var got string
		for {
			b, status := c.env.Receive(watch.conn, time.Second)
			if status != sim.Answered {
				break
			}
			got += string(b)
		}
		wantIn(t, "what the watch saw", got, `"type":"ADDED"`, `"name":"t"`)
		if strings.Contains(got, "other") || strings.Contains(got, "DELETED") || !strings.HasSuffix(got, lastChunk) {
			t.Errorf("the watch saw %q", got)
		}
		wantIn(t, "no number", watch.ask("GET", leasesOfDefault+"?watch=true&timeoutSeconds=soon", ""), "400 ")
	})
}

// TestWhatKubernetesRefusesFirst checks which error is returned for an object with several mistakes. The API server
// checks the namespace first, then the version, then the content, and finally whether a new object specifies a version.
// This order was observed with kube-apiserver 1.33.13.
func TestWhatKubernetesRefusesFirst(t *testing.T) {
	const bad = `"spec":{"leaseDurationSeconds":0}`
	asAPI(t, func(_ *desk, c apiCaller) {
		nowhere := strings.Replace(leasesOfDefault, "default", "nosuch", 1)
		wantIn(t, "a namespace that is absent", c.ask("POST", nowhere, `{"metadata":{"name":"a"},`+bad+`}`), "404 ")
		wantIn(t, "an update there", c.ask("PUT", nowhere+"/a", `{"metadata":{"name":"a"},`+bad+`}`), "404 ")
		wantIn(t, "a version of a new object", c.ask("POST", leasesOfDefault,
			`{"metadata":{"name":"a","resourceVersion":"5"}}`), "500 ", "should not be set")
		wantIn(t, "bad content, too",
			c.ask("POST", leasesOfDefault, `{"metadata":{"name":"a","resourceVersion":"5"},`+bad+`}`), "422 ")
		wantIn(t, "a new object", c.ask("POST", leasesOfDefault, `{"metadata":{"name":"a"}}`), "201 ")
		wantIn(t, "a version of before", c.ask("PUT", leasesOfDefault+"/a",
			`{"metadata":{"name":"a","resourceVersion":"1000000"},`+bad+`}`), "409 ")
		wantIn(t, "no name", c.ask("PUT", leasesOfDefault+"/a", `{"metadata":{"name":""}}`), "400 ", "undeterminable")
		if list := c.ask("GET", leasesOfDefault, ""); strings.Contains(list, `"kind":"Lease"`) {
			t.Errorf("an object in a list repeats its kind: %s", list)
		}
	})
}
