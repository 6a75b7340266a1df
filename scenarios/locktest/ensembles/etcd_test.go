package ensembles

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/protobuf/encoding/protowire"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// clients lists the clients under test.
var clients = []matrixtest.Client{
	{Name: "etcd-mutex", Config: locktest.Config{Servers: locktest.Etcd(3), TTL: ttl, New: newMutex}},
	{Name: "etcd-election", Config: locktest.Config{Servers: locktest.Etcd(3), TTL: ttl, New: newElection}},
	{Name: "etcd-lock-service", Config: locktest.Config{Servers: locktest.Etcd(3), TTL: ttl, New: newService},
		Tokenless: true},
}

const ttl = 8 * time.Second

// tries is the number of runs per test.
const tries = 60

// steadyBackoff is gRPC's own backoff without its random part, which cannot be seeded.
var steadyBackoff = grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 20 * time.Second,
	Backoff: backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, MaxDelay: 2 * time.Minute}})

// open opens etcd's client, with keepalive probes. Without them, a call to a member on a host that is down would wait
// until the operating system gives up on the connection.
func open(c *locktest.Client) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.Addrs, Context: c.Context(), Logger: zap.NewNop(),
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 2 * time.Second,
		DialOptions: []grpc.DialOption{steadyBackoff,
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				return c.DialContext(ctx, "tcp", addr)
			})}})
}

// session is a client together with its session, if it has one. Its locks belong to the session.
type session struct {
	client  *clientv3.Client
	ttl     time.Duration
	session *concurrency.Session
}

// begin begins a session, unless the current one is still alive.
func (s *session) begin() (err error) {
	if s.session != nil {
		select {
		case <-s.session.Done():
		default:
			return nil
		}
	}
	s.session, err = concurrency.NewSession(s.client, concurrency.WithTTL(int(s.ttl/time.Second)))
	return err
}

// Lost returns a channel that is closed when the session has ended.
func (s *session) Lost() <-chan struct{} { return s.session.Done() }

// released handles a release's result. If the release failed, it ends the session. Otherwise the key would still exist,
// and the session's next Lock would mistake it for its own.
func (s *session) released(err error) error {
	if err != nil && s.session != nil {
		s.session.Close()
		s.session = nil
	}
	return err
}

// Close ends the session and the client.
func (s *session) Close() error {
	if s.session != nil {
		s.session.Close()
	}
	return s.client.Close()
}

func TestMutex(t *testing.T) {
	locktest.Run(t, locktest.Config{Servers: locktest.Etcd(3), TTL: ttl, New: newMutex,
		Precautions: locktest.Precautions{StopsWhenLost: true, Fences: true}, Laws: locktest.FencedLaws, Seeds: tries})
}

// mutex is a concurrency.Mutex.
type mutex struct {
	session
	key   string
	mutex *concurrency.Mutex
}

func newMutex(c *locktest.Client) (locktest.Lock, error) {
	client, err := open(c)
	if err != nil {
		return nil, err
	}
	return &mutex{session: session{client: client, ttl: ttl}, key: c.Key}, nil
}

func (m *mutex) Lock(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	m.mutex = concurrency.NewMutex(m.session.session, m.key)
	return m.mutex.Lock(ctx)
}

func (m *mutex) Unlock(ctx context.Context) error { return m.released(m.mutex.Unlock(ctx)) }

// FencingToken returns the revision at which the lock was acquired.
func (m *mutex) FencingToken() int64 { return m.mutex.Header().Revision }

func TestElection(t *testing.T) {
	locktest.Run(t, locktest.Config{Servers: locktest.Etcd(3), TTL: ttl, New: newElection,
		Precautions: locktest.Precautions{StopsWhenLost: true, Fences: true}, Laws: locktest.FencedLaws, Seeds: tries})
}

// election is a concurrency.Election. The leader is in its critical section from when it wins until it resigns.
type election struct {
	session
	name, key string
	election  *concurrency.Election
}

func newElection(c *locktest.Client) (locktest.Lock, error) {
	client, err := open(c)
	if err != nil {
		return nil, err
	}
	return &election{session: session{client: client, ttl: ttl}, name: c.Name, key: c.Key}, nil
}

func (e *election) Lock(ctx context.Context) error {
	if err := e.begin(); err != nil {
		return err
	}
	e.election = concurrency.NewElection(e.session.session, e.key)
	return e.election.Campaign(ctx, e.name)
}

func (e *election) Unlock(ctx context.Context) error { return e.released(e.election.Resign(ctx)) }

// FencingToken returns the revision of the leader's key.
func (e *election) FencingToken() int64 { return e.election.Rev() }

func TestLockService(t *testing.T) {
	locktest.Run(t, locktest.Config{Servers: locktest.Etcd(3), TTL: ttl, New: newService,
		Precautions: locktest.Precautions{StopsWhenLost: true}, Laws: locktest.EfficiencyLaws, Seeds: tries})
}

// service is etcd's lock service, which any gRPC client can call. The caller must keep the lease alive.
type service struct {
	client *clientv3.Client
	name   string
	lease  clientv3.LeaseID
	alive  <-chan *clientv3.LeaseKeepAliveResponse
	lost   chan struct{}
	stop   context.CancelFunc
	key    string
}

func newService(c *locktest.Client) (locktest.Lock, error) {
	client, err := open(c)
	if err != nil {
		return nil, err
	}
	return &service{client: client, name: c.Key}, nil
}

func (s *service) Lock(ctx context.Context) error {
	granted, err := s.client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return err
	}
	s.lease = granted.ID
	var alive context.Context
	alive, s.stop = context.WithCancel(s.client.Ctx())
	if s.alive, err = s.client.KeepAlive(alive, s.lease); err != nil {
		return err
	}
	s.lost = make(chan struct{})
	go func(alive <-chan *clientv3.LeaseKeepAliveResponse, lost chan struct{}) {
		for range alive {
		}
		close(lost)
	}(s.alive, s.lost)
	request := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), s.name)
	request = protowire.AppendVarint(protowire.AppendTag(request, 2, protowire.VarintType), uint64(s.lease))
	response, err := call(ctx, s.client, "/v3lockpb.Lock/Lock", request)
	if err != nil {
		s.end()
		return err
	}
	s.key = s.name + "/" + strconv.FormatInt(int64(s.lease), 16)
	if len(response) == 0 {
		return errors.New("the lock service answered nothing")
	}
	return nil
}

// call calls a method that the client library has no generated code for. Request and response are encoded messages.
func call(ctx context.Context, c *clientv3.Client, method string, request []byte) (response []byte, err error) {
	err = c.ActiveConnection().Invoke(ctx, method, &request, &response, grpc.ForceCodec(asBytes{}))
	return response, err
}

// asBytes is a gRPC codec that passes messages on unchanged.
type asBytes struct{}

func (asBytes) Name() string                       { return "proto" }
func (asBytes) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (asBytes) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }

// Unlock releases the lock and revokes the lease.
func (s *service) Unlock(ctx context.Context) error {
	_, err := call(ctx, s.client, "/v3lockpb.Lock/Unlock",
		protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), s.key))
	s.end()
	return err
}

func (s *service) end() {
	s.stop()
	ctx, cancel := context.WithTimeout(s.client.Ctx(), 2*time.Second)
	defer cancel()
	s.client.Revoke(ctx, s.lease)
}

// Lost returns a channel that is closed when the lease has ended.
func (s *service) Lost() <-chan struct{} { return s.lost }

func (s *service) Close() error {
	if s.stop != nil {
		s.stop()
	}
	return s.client.Close()
}
