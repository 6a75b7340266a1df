package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	v1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// asking is an elector that first provokes the kinds of answers that client-go must be able to distinguish.
type asking struct{ *elector }

// TestAnswersAreThoseThatClientGoTellsApart checks that client-go recognizes the answers about conflicts, missing
// objects and existing objects, and that a watch replays past changes.
func TestAnswersAreThoseThatClientGoTellsApart(t *testing.T) {
	c := clients[0].Config
	c.Clients, c.Cycles, c.Seeds, c.SkipTrial, c.Plan = 1, 1, 3, true, []string{}
	c.New = func(c *locktest.Client) (locktest.Lock, error) {
		l, err := defaults.join(c)
		if err != nil {
			return nil, err
		}
		return asking{l.(*elector)}, nil
	}
	if r, ok := locktest.Explore(t, c); ok && (r.Runs != 3 || len(r.Failures) > 0) {
		t.Errorf("%d runs, failures %+v", r.Runs, r.Failures)
	}
}

// Lock panics, which fails the run, if client-go misinterprets an answer.
func (a asking) Lock(ctx context.Context) error {
	if err := provoke(ctx, a.leases.Leases("default"), "answers-"+a.client.Name); err != nil {
		panic(err)
	}
	return a.elector.Lock(ctx)
}

func provoke(ctx context.Context, leases coordination.LeaseInterface, name string) error {
	object := &v1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, missing := leases.Get(ctx, name, metav1.GetOptions{})
	first, err := leases.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, exists := leases.Create(ctx, object, metav1.CreateOptions{})
	holder := name
	first.Spec.HolderIdentity = &holder
	if _, err := leases.Update(ctx, first, metav1.UpdateOptions{}); err != nil {
		return err
	}
	_, conflict := leases.Update(ctx, first, metav1.UpdateOptions{})
	deleted := leases.Delete(ctx, name, metav1.DeleteOptions{})
	gone := leases.Delete(ctx, name, metav1.DeleteOptions{})
	switch {
	case !apierrors.IsNotFound(missing), !apierrors.IsNotFound(gone):
		return fmt.Errorf("a missing object: %v, %v", missing, gone)
	case !apierrors.IsAlreadyExists(exists):
		return fmt.Errorf("an object that exists: %v", exists)
	case !apierrors.IsConflict(conflict):
		return fmt.Errorf("a version that is superseded: %v", conflict)
	case deleted != nil:
		return deleted
	}
	return replay(ctx, leases, name, first.ResourceVersion)
}

// replay opens a watch that begins at an earlier version. The changes since that version must arrive in order.
func replay(ctx context.Context, leases coordination.LeaseInterface, name, version string) error {
	w, err := leases.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return err
	}
	defer w.Stop()
	for _, want := range []watch.EventType{watch.Modified, watch.Deleted} {
		e, open := <-w.ResultChan()
		if lease, is := e.Object.(*v1.Lease); !open || e.Type != want || !is || lease.Name != name {
			return fmt.Errorf("the watch saw %v, want %s of %s", e, want, name)
		}
	}
	return nil
}

// TestAnExpiredWatchIsOneToClientGo checks that client-go recognizes the error that ends a watch of a compacted
// version.
func TestAnExpiredWatchIsOneToClientGo(t *testing.T) {
	text, err := json.Marshal(etcd.Failure(http.StatusGone, "Expired", "too old resource version: %d (%d)", 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	var status metav1.Status
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatal(err)
	}
	failure := apierrors.FromObject(&status)
	if !apierrors.IsResourceExpired(failure) || apierrors.IsGone(failure) {
		t.Errorf("client-go takes %s for %v", text, failure)
	}
}
