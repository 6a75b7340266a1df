package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// published returns an empty object of each kind that the manifests may contain. The types are those that Kubernetes
// publishes.
var published = map[metav1.TypeMeta]func() any{
	{APIVersion: "apps/v1", Kind: "Deployment"}:                 func() any { return &appsv1.Deployment{} },
	{APIVersion: "apps/v1", Kind: "StatefulSet"}:                func() any { return &appsv1.StatefulSet{} },
	{APIVersion: "batch/v1", Kind: "Job"}:                       func() any { return &batchv1.Job{} },
	{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}: func() any { return &networkingv1.NetworkPolicy{} },
	{APIVersion: "v1", Kind: "ConfigMap"}:                       func() any { return &corev1.ConfigMap{} },
	{APIVersion: "v1", Kind: "PersistentVolumeClaim"}:           func() any { return &corev1.PersistentVolumeClaim{} },
	{APIVersion: "v1", Kind: "Service"}:                         func() any { return &corev1.Service{} },
}

// manifests returns the objects in the files of the kubernetes folder. It fails the test if an object has a field that
// its type does not have.
func manifests(t *testing.T) (all []any) {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range documents(t, text) {
			var kind metav1.TypeMeta
			if err := strict.Unmarshal(document, &kind); err != nil {
				t.Fatalf("%s: %v\n%s", file, err, document)
			}
			make := published[kind]
			if make == nil {
				t.Fatalf("%s: %v is no known kind", file, kind)
			}
			object := make()
			if err := strict.UnmarshalStrict(document, object); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			all = append(all, object)
		}
	}
	return all
}

func documents(t *testing.T, text []byte) (all [][]byte) {
	t.Helper()
	r := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, document)
	}
}

// pods returns the objects' pod templates. For each template, it also returns the labels that select it, or nil.
func pods(all []any) (templates []corev1.PodTemplateSpec, selectors []map[string]string) {
	for _, object := range all {
		switch o := object.(type) {
		case *appsv1.Deployment:
			templates, selectors = append(templates, o.Spec.Template), append(selectors, o.Spec.Selector.MatchLabels)
		case *appsv1.StatefulSet:
			templates, selectors = append(templates, o.Spec.Template), append(selectors, o.Spec.Selector.MatchLabels)
		case *batchv1.Job:
			templates, selectors = append(templates, o.Spec.Template), append(selectors, nil)
		}
	}
	return templates, selectors
}

// The manifests have only fields that Kubernetes knows, with the right types, and they fit together: the selectors
// match, and everything that is mounted or read from a config map exists.
func TestManifestsAreWhatKubernetesTakes(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	configs := []string{"fencepost-scenarios"} // users create this config map from their files
	for _, object := range all {
		if c, ok := object.(*corev1.ConfigMap); ok {
			configs = append(configs, c.Name)
		}
	}
	templates, selectors := pods(all)
	if len(templates) != 4 {
		t.Fatalf("%d kinds of pods", len(templates))
	}
	for i, pod := range templates {
		for label, value := range selectors[i] {
			if pod.Labels[label] != value {
				t.Errorf("%s is selected by %s, and is %s", value, label, pod.Labels[label])
			}
		}
		volumes := []string{"data"} // this volume comes from a volume claim template
		for _, v := range pod.Spec.Volumes {
			volumes = append(volumes, v.Name)
			if v.ConfigMap != nil && !slices.Contains(configs, v.ConfigMap.Name) {
				t.Errorf("there is no config map %s", v.ConfigMap.Name)
			}
		}
		for _, c := range pod.Spec.Containers {
			for _, m := range c.VolumeMounts {
				if !slices.Contains(volumes, m.Name) {
					t.Errorf("%s mounts %s, which is not there", c.Name, m.Name)
				}
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s may take all of its node", c.Name)
			}
		}
	}
}

// Pods have no more rights than they need, and only campaign pods can connect to the server.
func TestPodsHaveNoMoreRightsThanTheyNeed(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	templates, _ := pods(all)
	for _, pod := range templates {
		s := pod.Spec
		if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken || s.SecurityContext == nil ||
			s.SecurityContext.RunAsNonRoot == nil || !*s.SecurityContext.RunAsNonRoot ||
			s.SecurityContext.SeccompProfile == nil {
			t.Errorf("%s has rights of a pod that it does not need", s.Containers[0].Name)
		}
		for _, c := range s.Containers {
			x := c.SecurityContext
			if x == nil || x.AllowPrivilegeEscalation == nil || *x.AllowPrivilegeEscalation ||
				x.ReadOnlyRootFilesystem == nil || !*x.ReadOnlyRootFilesystem || x.Capabilities == nil ||
				!slices.Contains(x.Capabilities.Drop, "ALL") {
				t.Errorf("%s has rights of a container that it does not need", c.Name)
			}
		}
	}
	for _, object := range all {
		policy, ok := object.(*networkingv1.NetworkPolicy)
		if !ok {
			continue
		}
		for _, from := range policy.Spec.Ingress[0].From[0].PodSelector.MatchExpressions[0].Values {
			if !slices.ContainsFunc(templates, func(p corev1.PodTemplateSpec) bool { return p.Labels["app"] == from }) {
				t.Errorf("no pod is labeled %s", from)
			}
		}
		return
	}
	t.Error("every pod of the cluster reaches the server")
}

// A manifest with an unknown field or a wrong type is refused.
func TestAManifestWithAMistakeIsRefused(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("kubernetes/campaign.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document := string(documents(t, text)[0])
	for was, is := range map[string]string{"replicas: 10": "replica: 10", "replicas: 10 ": `replicas: "10"`,
		"matchLabels:": "matchLabel:", "args: [": "arg: [", "{cpu: \"2\", memory: 256Mi}": "{cpu: [2]}"} {
		wrong := strings.Replace(document, strings.TrimSpace(was), is, 1)
		if wrong == document {
			t.Fatalf("nothing was changed by %s", was)
		}
		if strict.UnmarshalStrict([]byte(wrong), &appsv1.Deployment{}) == nil {
			t.Errorf("%s in place of %s is accepted", is, was)
		}
	}
}

// The programs in the image have every command that the manifests use. The Indexed Job has as many shards as
// completions.
func TestManifestsCallCommandsThatThereAre(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, object := range manifests(t) {
		templates, _ := pods([]any{object})
		for _, pod := range templates {
			c := pod.Spec.Containers[0]
			if !strings.Contains(c.Image, "/fencepost:") {
				continue
			}
			if job, ok := object.(*batchv1.Job); ok && len(c.Command) > 0 {
				seen["explore"] = true
				exploresShares(t, job.Spec, c)
				continue
			}
			seen[c.Args[0]] = true
			root := newRoot(console{io.Discard, io.Discard, &said{}})
			command, rest, err := root.Find(c.Args[1:])
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err != nil || command == root || c.Args[0] != "campaign" {
				t.Errorf("%v: %v", c.Args, err)
			}
		}
	}
	if !seen["campaign"] || !seen["explore"] {
		t.Errorf("%v", seen)
	}
}

// exploresShares runs the script of an Indexed Job's pod twice. The second time, the script must continue where the
// first run left off.
func exploresShares(t *testing.T, job batchv1.JobSpec, c corev1.Container) {
	t.Helper()
	if *job.CompletionMode != batchv1.IndexedCompletion {
		t.Errorf("completions are %s", *job.CompletionMode)
	}
	dir, script := t.TempDir(), c.Args[0]
	for was, is := range map[string]string{"/results": dir, "/scenarios/our-lock.yaml": "kleppmann-gc-pause",
		"100000000":                           "200",
		fmt.Sprintf("/%d ", *job.Completions): "/100 "} {
		if !strings.Contains(script, was) {
			t.Fatalf("%s is not in the script:\n%s", was, script)
		}
		script = strings.ReplaceAll(script, was, is)
	}
	if err := build(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		sh := exec.Command("/bin/sh", "-c", script)
		sh.Env = append(os.Environ(), "JOB_COMPLETION_INDEX=7", "PATH="+programs+":"+os.Getenv("PATH"))
		if got := call(t, sh); got.code != 0 || !strings.Contains(got.out, "2 random plans from 15") {
			t.Errorf("exit %d: %s%s", got.code, got.out, got.problems)
		}
	}
}
