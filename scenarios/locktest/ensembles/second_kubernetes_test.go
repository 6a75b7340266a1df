//go:build linux

package ensembles

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/apiserver"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// apiSide is the real or the simulated API server. In its output, UIDs and versions are replaced with numbers in order
// of first appearance. For each Lease object it stores the states that were seen, because a client may still be using
// an old one.
type apiSide struct {
	base     string
	versions map[string]int
	uids     map[string]int
	seen     map[string][]map[string]any // states by object name
	first    string                      // the version at the beginning of a round
}

// apiClient accepts a new API server's self-signed certificate.
var apiClient = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	Timeout: 20 * time.Second}

const leasesAt = "/apis/coordination.k8s.io/v1/namespaces/"

// ask sends a request and returns the answer as text. A watch has several answers.
func (s *apiSide) ask(method, path string, body any) (all string) {
	text, isText := body.(string)
	if !isText && body != nil {
		b, _ := json.Marshal(body)
		text = string(b)
	}
	q, err := http.NewRequest(method, s.base+path, strings.NewReader(text))
	if err != nil {
		return err.Error()
	}
	q.Header.Set("Authorization", "Bearer secret")
	q.Header.Set("Content-Type", "application/json")
	a, err := apiClient.Do(q)
	if err != nil {
		return err.Error()
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	all = fmt.Sprint(a.StatusCode, " ")
	for in := json.NewDecoder(bytes.NewReader(b)); err == nil; {
		var v map[string]any
		if err = in.Decode(&v); err == nil {
			all += s.show(v) + " "
		}
	}
	return all
}

// named returns a number to show in place of a string that differs between the servers. Strings are numbered in order
// of first appearance.
func named(list map[string]int, v any) any {
	text, is := v.(string)
	if !is || text == "" {
		return v
	}
	if _, known := list[text]; !known {
		list[text] = len(list)
	}
	return fmt.Sprint("#", list[text])
}

// show returns an object, a list, an event or a failure as text. If a failure describes an error in the body, show
// omits the description, because the servers word it differently.
func (s *apiSide) show(v map[string]any) string {
	if event, is := v["object"].(map[string]any); is {
		return fmt.Sprint(v["type"], " ", s.show(event))
	}
	switch v["kind"] {
	case "Status":
		message := v["message"]
		if v["code"] == 400. || v["code"] == 422. {
			message = "…"
		}
		text := fmt.Sprint(v["status"], v["code"], v["reason"], message)
		for uid, n := range s.uids {
			text = strings.ReplaceAll(text, uid, fmt.Sprint("#", n))
		}
		return ownText.ReplaceAllString(text, "…")
	case "LeaseList":
		text := "list "
		items, _ := v["items"].([]any)
		for _, i := range items {
			text += s.show(i.(map[string]any))
		}
		return text
	}
	metadata, _ := v["metadata"].(map[string]any)
	if metadata == nil {
		b, _ := json.Marshal(v)
		return string(b)
	}
	shown := map[string]any{}
	for k, of := range metadata {
		shown[k] = of
	}
	delete(shown, "managedFields")
	delete(shown, "creationTimestamp")
	name, _ := metadata["name"].(string)
	s.seen[name] = append(s.seen[name], v)
	shown["uid"] = named(s.uids, metadata["uid"])
	shown["resourceVersion"] = named(s.versions, metadata["resourceVersion"])
	b, _ := json.Marshal([]any{v["kind"], v["apiVersion"], shown, v["spec"]})
	return string(b)
}

// ownText matches the parts of a conflict's text that differ between the servers: an object's key in etcd, and its
// versions.
var ownText = regexp.MustCompile(`Key: \S+|\(\d+\)`)

// earlier returns the metadata of an object's most recent state if back is 0, of the state before that if back is 1,
// and so on. If no such state has been seen, it returns an empty object.
func (s *apiSide) earlier(name string, back int) map[string]any {
	all := s.seen[name]
	if len(all) <= back {
		return map[string]any{}
	}
	metadata, _ := all[len(all)-1-back]["metadata"].(map[string]any)
	return metadata
}

var apiNames = []string{"a", "a", "a", "b", "b", "orders-42"}

func apiSpec(r *rand.Rand) map[string]any {
	spec := map[string]any{}
	set := func(field string, values ...any) {
		if r.IntN(2) == 0 {
			spec[field] = values[r.IntN(len(values))]
			if r.IntN(12) > 0 {
				spec[field] = values[0]
			}
		}
	}
	set("holderIdentity", oneOf[any](r, "me", "you", ""), 5, nil)
	set("leaseDurationSeconds", oneOf[any](r, 15, 1), "15", 1.5, 0, -1, 2147483648, nil)
	set("leaseTransitions", oneOf[any](r, 0, 1, 2), "1", -1, nil)
	for _, field := range []string{"acquireTime", "renewTime"} {
		set(field, oneOf[any](r, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:01.123456Z"),
			"2026-01-01T00:00:00.123Z", "2026-01-01T00:00:00Z", "2026-01-01T02:00:00.123456+02:00", "", 5, nil,
			"2026-01-01T00:00:00.123456")
	}
	set("unknown", "x")
	return spec
}

// apiObject returns a random object for a client to send. Usually it is a modified version of an object that the client
// has read.
func apiObject(r *rand.Rand, s *apiSide, name string) map[string]any {
	metadata := map[string]any{"name": name}
	if version := s.earlier(name, oneOf(r, 0, 0, 0, 1, 3))["resourceVersion"]; version != nil && r.IntN(4) > 0 {
		metadata["resourceVersion"] = version
	}
	if uid := s.earlier(name, oneOf(r, 0, 0, 0, 9))["uid"]; uid != nil && r.IntN(2) > 0 {
		metadata["uid"] = uid
	}
	switch r.IntN(20) {
	case 0:
		metadata["name"] = oneOf(r, "UPPER", "a_b", "orders:42", "-a", "a.b", strings.Repeat("a", 254), "")
	case 1:
		metadata["labels"] = map[string]any{oneOf(r, "app", "bad key!", "x/y"): oneOf(r, "lock", "a b", "")}
	case 2:
		metadata["namespace"] = oneOf(r, "default", "other")
	case 3:
		metadata["annotations"] = map[string]any{"note": "x y"}
	case 4:
		metadata["resourceVersion"] = oneOf(r, "0", "", "1")
	}
	object := map[string]any{"metadata": metadata, "spec": apiSpec(r)}
	if r.IntN(2) == 0 {
		object["kind"], object["apiVersion"] = "Lease", "coordination.k8s.io/v1"
	}
	if r.IntN(40) == 0 {
		object["kind"] = "Pod"
	}
	return object
}

// apiStep returns a random step.
func apiStep(r *rand.Rand) step[*apiSide] {
	name, namespace, seed := oneOf(r, apiNames...), "default", r.Uint64()
	if r.IntN(15) == 0 {
		namespace = oneOf(r, "nosuch", "kube-system")
	}
	folder := leasesAt + namespace + "/leases"
	request := func(area, method, path string, body func(r *rand.Rand, s *apiSide) any) step[*apiSide] {
		return step[*apiSide]{area, fmt.Sprintf("%s %s", method, path), func(s *apiSide) string {
			var sent any
			if body != nil {
				sent = body(rand.New(rand.NewPCG(seed, 1)), s)
			}
			return s.ask(method, path, sent)
		}}
	}
	object := func(r *rand.Rand, s *apiSide) any { return apiObject(r, s, name) }
	switch n := r.IntN(20); {
	case n < 4:
		return request("create", "POST", folder+oneOf(r, "", "", "", "?fieldValidation=Strict"),
			func(r *rand.Rand, s *apiSide) any {
				o := apiObject(r, s, name)
				if r.IntN(8) > 0 {
					delete(o["metadata"].(map[string]any), "resourceVersion")
				}
				return o
			})
	case n < 12:
		return request("update", "PUT", folder+"/"+name, object)
	case n < 14:
		return request("get", "GET", folder+"/"+name, nil)
	case n < 16:
		return request("list", "GET", leasesAt+"default/leases"+oneOf(r, "", "?fieldSelector=metadata.name%3Da"), nil)
	case n < 17:
		return request("unchanged update", "PUT", folder+"/"+name, func(r *rand.Rand, s *apiSide) any {
			if all := s.seen[name]; len(all) > 0 {
				return all[len(all)-1]
			}
			return "{"
		})
	}
	return request("delete", "DELETE", folder+"/"+name, func(r *rand.Rand, s *apiSide) any {
		wants := map[string]any{}
		if uid := s.earlier(name, oneOf(r, 0, 0, 9))["uid"]; uid != nil && r.IntN(2) == 0 {
			wants["uid"] = uid
		}
		if version := s.earlier(name, oneOf(r, 0, 0, 1))["resourceVersion"]; version != nil && r.IntN(3) == 0 {
			wants["resourceVersion"] = version
		}
		if len(wants) == 0 && r.IntN(2) == 0 {
			return nil
		}
		return map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": wants}
	})
}

// begin deletes the objects left behind by earlier rounds.
func (s *apiSide) begin() *apiSide {
	*s = apiSide{base: s.base, versions: map[string]int{}, uids: map[string]int{}, seen: map[string][]map[string]any{}}
	for _, namespace := range []string{"default", "kube-system"} {
		for _, name := range append(slices.Clone(apiNames), "a.b") {
			s.ask("DELETE", leasesAt+namespace+"/leases/"+name, nil)
		}
	}
	s.ask("POST", leasesAt+"default/leases", map[string]any{"metadata": map[string]any{"name": "a"}})
	s.first, _ = s.earlier("a", 0)["resourceVersion"].(string)
	s.seen = map[string][]map[string]any{"a": s.seen["a"]} // the answers to the deletions contain objects
	return s
}

// realAPI starts kube-apiserver with its own etcd. If kube-apiserver is missing, the test is skipped, even with
// FENCEPOST_FULL=1, because no package manager that tests may use provides it. It is built from the module
// k8s.io/kubernetes. The directories under its staging directory are separate modules: for Kubernetes 1.33.13, they
// have version 0.33.13.
func realAPI(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("kube-apiserver")
	if err != nil {
		t.Skipf("%v: build k8s.io/kubernetes/cmd/kube-apiserver 1.33 into PATH", err)
	}
	etcdAt, folder := realEtcd(t), t.TempDir()
	_, port := testkit.FreeAddress(t)
	at := net.JoinHostPort("127.0.0.1", port)
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := exec.Command("openssl", "genrsa", "2048").Output()
	if err != nil {
		t.Fatal(err)
	}
	account := file("account.key", string(key))
	cmd := exec.Command(program, "--etcd-servers=http://"+etcdAt, "--secure-port="+port, "--bind-address=127.0.0.1",
		"--cert-dir="+folder, "--token-auth-file="+file("tokens", "secret,admin,admin,\"system:masters\"\n"),
		"--authorization-mode=RBAC", "--service-account-issuer=https://x", "--service-account-key-file="+account,
		"--service-account-signing-key-file="+account, "--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	s := &apiSide{base: "https://" + at, versions: map[string]int{}, uids: map[string]int{},
		seen: map[string][]map[string]any{}}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if made := s.ask("POST", leasesAt+"kube-system/leases", map[string]any{
			"metadata": map[string]any{"name": "ready"}}); strings.HasPrefix(made, "201") {
			return s.base
		}
	}
	t.Fatal("kube-apiserver does not serve")
	return ""
}

// TestSecondKubernetes compares the simulated API server with a real one over HTTP.
func TestSecondKubernetes(t *testing.T) {
	real := &apiSide{base: realAPI(t)}
	members := []sim.ProcessID{"kubernetes-1"}
	simulated := &apiSide{base: "http://" + served(t, members, func(w *sim.World) {
		etcd.New(raft.Config{}, members).AddTo(func(id sim.ProcessID, s sim.Server) { w.AddServer(id, s) })
	}, apiserver.Front())[0]}
	begin := func(*testing.T) (a, b *apiSide) { return real.begin(), simulated.begin() }
	compare(t, testkit.Size(5, 5, 200), 60, begin, apiStep, func(t *testing.T, _ int, real, simulated *apiSide) {
		watch := func(s *apiSide) string {
			return s.ask("GET", leasesAt+"default/leases?watch=true&timeoutSeconds=1&resourceVersion="+s.first, nil)
		}
		if want, got := watch(real), watch(simulated); want != got {
			t.Errorf("a watch of the round\nreal      %s\nsimulated %s", want, got)
		}
	})
}
