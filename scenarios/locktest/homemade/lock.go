package homemade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TTL is the TTL of all locks in this package.
const TTL = 8 * time.Second

// pollEvery is how often a waiting client retries.
const pollEvery = 100 * time.Millisecond

// Recipe describes how a lock works.
type Recipe struct {
	Name string
	// Servers is the number of servers that a client asks for the lock; 0 means one. Quorum is the number of servers
	// that must grant it; 0 means a majority.
	Servers, Quorum int
	Version         string   // version of the servers, as for Servers.OfVersion
	Owner           Owner    // how often a client changes its owner value
	Also            []string // names of other keys of the lock, in addition to @lock
	// Take asks a server for the lock once. Give releases the lock, and returns false if the lock no longer existed.
	// Undo, if set, cleans up after a failed attempt. Renew, if set, extends the lease.
	Take, Give, Undo, Renew Step
	// Renewal determines who calls Renew.
	Renewal Renewal
	// Inner determines whether the client's work acquires the lock a second time, and how the second release affects
	// the watchdog.
	Inner Inner
	// Unchecked makes Unlock return nil even if Give returns false.
	Unchecked bool
	// CountsFromReply makes the validity period begin when the lock is granted rather than when it is requested.
	CountsFromReply bool
	// Says is set if the lock's validity period does not end exactly one TTL after the request. Such a lock always
	// reports how long it is valid, whatever its Dress.
	Says bool
	// Fences is set if Take also obtains a fencing token.
	Fences bool
	// Shared makes client-2 and client-3 hold the lock as readers, and the other clients hold it as writers.
	Shared bool
}

// Step is a request to one server. It reports whether the server has granted the request.
type Step func(c *Call) (bool, error)

// Owner determines how often a client changes its owner value.
type Owner int

const (
	PerTry     Owner = iota // each attempt to acquire the lock uses a new value
	PerAcquire              // each call of Lock uses a new value, which its retries share
	PerClient               // each client uses one value
	Nobody                  // all clients use the same value
)

// Renewal says who renews a lock.
type Renewal int

const (
	Unrenewed Renewal = iota
	ByWatchdog
	ByUser // the client calls Extend
	Asleep // nobody renews the lock, although it has a channel to announce its loss
)

// Inner says whether a client's work acquires the lock again while the client is already holding it.
type Inner int

const (
	Once            Inner = iota // it does not acquire the lock again
	Twice                        // it acquires the lock again, and releases that hold
	TwiceAndStopped              // like Twice, but the watchdog ends with the first release
)

// Dress is one way to write a recipe, for example with a script's arguments in a certain order. It must not affect the
// results.
type Dress struct {
	Name string
	// Reversed is set if a script's keys and its arguments are in reverse order.
	Reversed bool
	// Hashed makes scripts run with EVALSHA, or with EVAL if the server doesn't know the script yet.
	Hashed bool
	// Set returns the words of a SET command with an expiry and a condition.
	Set func(key, value, condition string) []string
	// Value returns the value that identifies an owner, given the client's name and a number that tells the client's
	// owners apart.
	Value func(name string, n int) string
	// Silent is set if the lock does not report how long it is valid.
	Silent bool
}

// Dresses lists the ways in which the tests write each recipe.
var Dresses = []Dress{
	{Name: "plain",
		Set: func(key, value, condition string) []string {
			return []string{"SET", key, value, condition, "PX", millis(TTL)}
		},
		Value: func(name string, n int) string { return fmt.Sprintf("%s.%d", name, n) }},
	{Name: "reversed", Reversed: true, Hashed: true, Silent: true,
		Set: func(key, value, condition string) []string {
			return []string{"set", key, value, "px", millis(TTL), condition}
		},
		// This value has as many digits as a time in milliseconds since 1970.
		Value: func(name string, n int) string { return fmt.Sprintf("1767%06d%03d", number(name), n) }},
	{Name: "seconds", Reversed: true, Silent: true,
		Set: func(key, value, condition string) []string {
			return []string{"Set", key, value, "Ex", strconv.Itoa(int(TTL.Seconds())), condition}
		},
		// This value has as few digits as a TTL in milliseconds.
		Value: func(name string, n int) string { return fmt.Sprintf("%d%03d", number(name), n) }},
	{Name: "absolute", Hashed: true,
		Set: func(key, value, condition string) []string {
			end := time.Now().Add(TTL).UnixMilli()
			return []string{"SET", key, value, condition, "PXAT", strconv.FormatInt(end, 10)}
		},
		Value: func(name string, n int) string { return fmt.Sprintf(`{"owner":"%s","n":%d}`, name, n) }},
}

// number returns a number derived from a client's name.
func number(name string) int {
	n := 7
	for _, b := range []byte(name) {
		n = (n*31 + int(b)) % 1_000_000
	}
	return n
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// errLost is the error that Unlock returns if the lock had already been lost.
var errLost = errors.New("the lock was lost")

// Config returns the Config for testing the lock.
func (r *Recipe) Config(d Dress, dial Dial) locktest.Config {
	c := locktest.Config{TTL: TTL, Servers: locktest.Redis(max(r.Servers, 1)),
		Precautions: locktest.Precautions{ChecksValidity: true, StopsWhenLost: true}}
	if r.Fences {
		c.Precautions = locktest.Precautions{Fences: true}
	}
	if r.Version != "" {
		c.Servers = c.Servers.OfVersion(r.Version)
	}
	if len(r.Also) > 0 {
		c.Keys = func(lock string) []string {
			keys := []string{lock}
			for _, name := range r.Also {
				keys = append(keys, keyOf(lock, name))
			}
			return keys
		}
	}
	if r.Renewal == ByUser {
		c.Precautions.ExtendEvery = TTL / 3
	}
	c.New = func(c *locktest.Client) (locktest.Lock, error) { return r.open(c, d, dial), nil }
	return c
}

// keyOf returns the Redis key that a script refers to as @name.
func keyOf(lock, name string) string {
	if name == "lock" {
		return lock
	}
	return lock + ":" + name
}

func (r *Recipe) open(c *locktest.Client, d Dress, dial Dial) locktest.Lock {
	d.Silent = d.Silent && !r.Says && !r.CountsFromReply
	h := &holder{recipe: r, dress: d, client: c, seen: map[string]string{}}
	for i := range max(r.Servers, 1) {
		h.conns = append(h.conns, dial(c, c.Addr(i)))
		h.renewing = append(h.renewing, dial(c, c.Addr(i)))
	}
	switch {
	case (r.Renewal == ByWatchdog || r.Renewal == Asleep) && d.Silent:
		return announced{h}
	case r.Renewal == ByWatchdog, r.Renewal == Asleep:
		return watched{timed{h}}
	case r.Renewal == ByUser && d.Silent:
		return extended{h}
	case r.Renewal == ByUser:
		return prolonged{timed{h}}
	case r.Fences && d.Silent:
		return tokened{h}
	case r.Fences:
		return fenced{timed{h}}
	case r.Shared && d.Silent:
		return shared{h}
	case r.Shared:
		return sharedTimed{timed{h}}
	case d.Silent:
		return h
	}
	return timed{h}
}

type (
	timed       struct{ *holder }
	announced   struct{ *holder }
	watched     struct{ timed }
	extended    struct{ *holder }
	prolonged   struct{ timed }
	tokened     struct{ *holder }
	fenced      struct{ timed }
	shared      struct{ *holder }
	sharedTimed struct{ timed }
)

func (t timed) ValidUntil() time.Time                { return t.end() }
func (w watched) Lost() <-chan struct{}              { return w.lost }
func (a announced) Lost() <-chan struct{}            { return a.lost }
func (e extended) Extend(ctx context.Context) error  { return e.extend(ctx) }
func (p prolonged) Extend(ctx context.Context) error { return p.extend(ctx) }
func (t tokened) FencingToken() int64                { return t.token }
func (f fenced) FencingToken() int64                 { return f.token }
func (s shared) Shared() bool                        { return s.reads() }
func (s sharedTimed) Shared() bool                   { return s.reads() }

// holder is one client's handle on the lock.
type holder struct {
	recipe *Recipe
	dress  Dress
	client *locktest.Client
	conns  []Conn
	// renewing contains the connections used for renewals. They are separate because a renewal and a release may be in
	// progress at the same time.
	renewing []Conn
	n        int    // number of owner values so far
	owner    string // owner value of the latest attempt
	token    int64
	seen     map[string]string // data that a recipe keeps between the attempts of one Lock

	mu    sync.Mutex
	held  string // the owner value while the lock is held, otherwise ""
	until time.Time
	lost  chan struct{}
	stop  context.CancelFunc
	ended chan struct{} // closed when the watchdog has ended
}

// reads reports whether the client is one of a shared lock's readers.
func (h *holder) reads() bool { return h.client.Name == "client-2" || h.client.Name == "client-3" }

func (h *holder) end() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

// renew asks the servers to extend the lease. While it is waiting for the answers, the lock may be released and even
// acquired again.
func (h *holder) renew(ctx context.Context) (kept, unclear bool, err error) {
	h.mu.Lock()
	owner := h.held
	h.mu.Unlock()
	if owner == "" {
		return false, false, nil
	}
	kept, unclear, c := h.ask(ctx, h.recipe.Renew, owner, h.renewing)
	h.mu.Lock()
	defer h.mu.Unlock()
	if kept = kept && h.held == owner && time.Now().Before(h.until); kept {
		h.until = c.Until
	}
	return kept, unclear, c.err
}

// draw chooses the owner value for the next attempt.
func (h *holder) draw(first bool) {
	switch h.recipe.Owner {
	case PerAcquire:
		if !first {
			return
		}
	case PerClient:
		h.owner = h.dress.Value(h.client.Name, 1)
		return
	case Nobody:
		h.owner = h.dress.Value("anybody", 1)
		return
	}
	h.n++
	h.owner = h.dress.Value(h.client.Name, h.n)
}

func (h *holder) Lock(ctx context.Context) error {
	clear(h.seen)
	for first := true; ctx.Err() == nil; first = false {
		h.draw(first)
		taken, unclear, c := h.ask(ctx, h.recipe.Take, h.owner, h.conns)
		if taken && time.Now().Before(c.Until) {
			h.mu.Lock()
			h.held, h.until, h.token = h.owner, c.Until, c.Token
			h.mu.Unlock()
			h.watch()
			if h.recipe.Inner != Once {
				h.reenter(ctx)
			}
			return nil
		}
		if (taken || unclear || len(h.conns) > 1) && h.recipe.Undo != nil {
			h.ask(context.WithoutCancel(ctx), h.recipe.Undo, h.owner, h.conns)
		}
		sleep(ctx, pollEvery)
	}
	return ctx.Err()
}

// reenter acquires the lock a second time and releases it again, like a function that does its own locking. If a
// request fails, the client keeps its first hold.
func (h *holder) reenter(ctx context.Context) {
	if entered, _, _ := h.ask(ctx, h.recipe.Take, h.owner, h.conns); !entered {
		return
	}
	h.ask(ctx, h.recipe.Give, h.owner, h.conns)
	if h.recipe.Inner == TwiceAndStopped {
		h.stop()
		<-h.ended
	}
}

func (h *holder) Unlock(ctx context.Context) error {
	if h.stop != nil {
		h.stop()
		<-h.ended
	}
	given, unclear, c := h.ask(ctx, h.recipe.Give, h.owner, h.conns)
	h.mu.Lock()
	h.held = ""
	h.mu.Unlock()
	switch {
	case unclear:
		return c.err
	case !given && !h.recipe.Unchecked:
		return errLost
	}
	return nil
}

func (h *holder) Close() error {
	var all error
	for _, c := range slices.Concat(h.conns, h.renewing) {
		all = errors.Join(all, c.Close())
	}
	return all
}

// ask performs a step on all servers at the same time. granted reports whether a quorum has granted it. unclear is set
// if too few servers answered to tell.
func (h *holder) ask(ctx context.Context, s Step, owner string, conns []Conn) (granted, unclear bool, c *Call) {
	calls := make([]*Call, len(conns))
	var over sync.WaitGroup
	for i, conn := range conns {
		asked := time.Now()
		calls[i] = &Call{holder: h, ctx: ctx, conn: conn, owner: owner, Until: asked.Add(TTL - h.drift())}
		if len(conns) == 1 {
			calls[i].take(s)
		} else {
			over.Go(func() { calls[i].take(s) })
		}
	}
	over.Wait()
	votes, silent := 0, 0
	c = calls[0]
	for _, each := range calls {
		if each.granted {
			votes++
		}
		if each.err != nil {
			silent++
			c.err = each.err
		}
	}
	need := h.recipe.Quorum
	if need == 0 {
		need = len(conns)/2 + 1
	}
	if h.recipe.CountsFromReply {
		c.Until = time.Now().Add(TTL - h.drift())
	}
	return votes >= need, votes < need && votes+silent >= need, c
}

// drift returns how much time is subtracted from the validity of a lock on several servers to allow for differences
// between their clocks.
func (h *holder) drift() time.Duration {
	if len(h.conns) == 1 {
		return 0
	}
	return TTL/100 + 2*time.Millisecond
}

// watch starts the goroutine that renews the lock until Unlock is called or the lock is lost.
func (h *holder) watch() {
	switch h.recipe.Renewal {
	case ByWatchdog:
	case Asleep:
		h.lost = make(chan struct{})
		return
	default:
		return
	}
	var ctx context.Context
	ctx, h.stop = context.WithCancel(h.client.Context())
	h.lost, h.ended = make(chan struct{}), make(chan struct{})
	go func(lost, ended chan struct{}) {
		defer close(ended)
		for next := TTL / 3; sleep(ctx, next) == nil; {
			end := h.end()
			bounded, cancel := context.WithDeadline(ctx, end)
			kept, unclear, _ := h.renew(bounded)
			cancel()
			switch in := time.Until(end); {
			case ctx.Err() != nil:
				return
			case kept:
				next = TTL / 3
			case !unclear || in <= 0:
				close(lost)
				return
			default:
				next = min(pollEvery, in)
			}
		}
	}(h.lost, h.ended)
}

// extend extends the lease when the client calls Extend.
func (h *holder) extend(ctx context.Context) error {
	kept, unclear, err := h.renew(ctx)
	switch {
	case unclear:
		return err
	case !kept:
		return errLost
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Call contains what one step of a lock needs to act on one server.
type Call struct {
	// Until is when the validity period ends, and Token is the fencing token. A step may set them.
	Until time.Time
	Token int64

	*holder
	ctx     context.Context
	conn    Conn
	owner   string
	granted bool
	err     error
}

func (c *Call) take(s Step) {
	yes, err := s(c)
	c.granted, c.err = yes && err == nil, err
}

// Do sends a command and waits for the reply, up to patience.
func (c *Call) Do(args ...string) (any, error) { return c.wait(patience, args...) }

// wait is like Do, but waits for up to d. It is for commands that block.
func (c *Call) wait(d time.Duration, args ...string) (any, error) {
	ctx, cancel := context.WithTimeout(c.ctx, d)
	defer cancel()
	return c.conn.Do(ctx, args...)
}

// key returns the Redis key that a script refers to as @name.
func (c *Call) key(name string) string { return keyOf(c.client.Key, name) }

// set sends SET with an expiry and a condition.
func (c *Call) set(condition string) (any, error) {
	return c.Do(c.dress.Set(c.key("lock"), c.owner, condition)...)
}

// eval runs a script in which keys and arguments have names instead of numbers. A script can always use the arguments
// $owner, $ttl (in milliseconds) and $mode ("read" or "write"). pairs contains any other arguments: each name is
// followed by its value.
func (c *Call) eval(script string, pairs ...string) (any, error) {
	text, keys, args := numbered(script, c.dress.Reversed)
	rest := []string{strconv.Itoa(len(keys))}
	for _, name := range keys {
		rest = append(rest, c.key(name))
	}
	for _, name := range args {
		switch at := slices.Index(pairs, name); {
		case at >= 0:
			rest = append(rest, pairs[at+1])
		case name == "owner":
			rest = append(rest, c.owner)
		case name == "ttl":
			rest = append(rest, millis(TTL))
		case name == "mode":
			rest = append(rest, map[bool]string{false: "write", true: "read"}[c.reads()])
		default:
			return nil, fmt.Errorf("%s: there is no value for $%s", c.recipe.Name, name)
		}
	}
	if c.dress.Hashed {
		reply, err := c.Do(slices.Concat([]string{"EVALSHA", hashOf(text)}, rest)...)
		if refused := ReplyError(""); !errors.As(err, &refused) || len(refused) < 8 || refused[:8] != "NOSCRIPT" {
			return reply, err
		}
	}
	return c.Do(slices.Concat([]string{"EVAL", text}, rest)...)
}

// granted reports whether a reply is "OK" or a nonzero number.
func granted(reply any, err error) (bool, error) {
	switch r := reply.(type) {
	case string:
		return r == "OK", err
	case int64:
		return r != 0, err
	}
	return false, err
}

// script returns a Step that runs a script.
func script(text string) Step { return func(c *Call) (bool, error) { return granted(c.eval(text)) } }
