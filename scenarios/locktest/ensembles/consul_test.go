package ensembles

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// consulLock is api.Lock from Consul's Go client. The client sends its requests to one of the servers. On a real
// machine it would send them to the local agent, which passes them on to a server.
type consulLock struct {
	client *api.Client
	key    string
	ttl    time.Duration
	lock   *api.Lock
	lost   <-chan struct{}
	token  int64
}

// openConsul opens a client whose transport dials on the simulated network.
func openConsul(c *locktest.Client, ttl time.Duration) (locktest.Lock, error) {
	server := c.Addr(int(c.Name[len(c.Name)-1]) % len(c.Addrs))
	transport := &http.Transport{DialContext: c.DialContext}
	client, err := api.NewClient(&api.Config{Address: "http://" + server, Transport: transport,
		HttpClient: &http.Client{Transport: transport}})
	return &consulLock{client: client, key: c.Key, ttl: ttl}, err
}

func (l *consulLock) Lock(ctx context.Context) (err error) {
	if l.lock, err = l.client.LockOpts(&api.LockOptions{Key: l.key, SessionTTL: l.ttl.String()}); err != nil {
		return err
	}
	if l.lost, err = l.lock.Lock(ctx.Done()); err == nil && l.lost == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	pair, _, err := l.client.KV().Get(l.key, (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
	if err != nil || pair == nil {
		l.lock.Unlock()
		return cmp.Or(err, errGone)
	}
	l.token = int64(pair.ModifyIndex)
	return nil
}

var errGone = errors.New("the key is gone")

// FencingToken returns the log index at which the key last changed.
func (l *consulLock) FencingToken() int64 { return l.token }

func (l *consulLock) Unlock(context.Context) error { return l.lock.Unlock() }

// Lost returns a channel that is closed when the query watching the key has failed, or has shown that the session does
// not hold the key.
func (l *consulLock) Lost() <-chan struct{} { return l.lost }
