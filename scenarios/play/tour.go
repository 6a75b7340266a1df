package play

import (
	"github.com/fencepost-sim/fencepost/checker"
)

// tourStop is a stop on the guided tour. It has a scenario, a paraphrase of a document about the problem, and a
// question that the user answers by trying things out.
type tourStop struct {
	Title    string `json:"title"`
	Scenario string `json:"scenario"` // name of a scenario of the catalog
	Words    string `json:"words"`    // paraphrase of what the document says
	Source   string `json:"source"`   // document and section
	Question string `json:"question"`
	Goal     goal   `json:"goal"`
	Answer   string `json:"answer"` // shown when the goal is reached
}

// goal is the outcome that the user is asked to bring about.
type goal struct {
	Law     checker.Law `json:"law"`
	Outcome string      `json:"outcome"`
	Faults  bool        `json:"faults"` // no fault may be removed: there must be as many faults as at the start
}

const (
	kleppmann = "Kleppmann, How to do distributed locking (2016), "
	antirez   = "Sanfilippo, Is Redlock safe? (2016), "
	redisDocs = "redis.io, Distributed Locks with Redis, "
)

// tour presents the 2016 debate about Redlock in eight stops.
var tour = []tourStop{
	{
		Title: "A pause", Scenario: "kleppmann-gc-pause",
		Words: "A client takes the lock and then pauses for longer than its lease, " +
			"for example because of garbage collection. " +
			"The lock goes to another client. The first client wakes up, does not know this, and writes.",
		Source: kleppmann + `"Protecting a resource with a lock"`,
		Question: "Pull the right end of the pause to the left until no two clients are inside at once. " +
			"How short must it be?",
		Goal: goal{Law: checker.MutualExclusion, Outcome: "holds", Faults: true},
		Answer: "Just shorter than the lease. The lock itself never broke its promise: " +
			"lease-exclusion held all the time. But no client can promise not to pause.",
	}, {
		Title: "A pause that is noticed", Scenario: "pause-while-acquiring",
		Words: "A pause between sending the requests and counting the votes does no harm, " +
			"because Redlock checks the clock again before it considers the lock acquired.",
		Source: antirez + `"GC pauses and other delays"`,
		Question: "The promise holds here. " +
			"Drag the pause to the right, to where the client has the lock, until the promise breaks.",
		Goal: goal{Law: checker.MutualExclusion, Outcome: "violated", Faults: true},
		Answer: "The second check helps only before the client believes that it has the lock. " +
			"After the last check, nothing can notice a pause.",
	}, {
		Title: "A clock that jumps", Scenario: "kleppmann-clock-jump",
		Words: "Redlock relies on clocks that run at about the same rate. " +
			"A server whose clock is set forward drops a lease that is in use, and another client can get a majority.",
		Source:   kleppmann + `"Breaking Redlock with bad timings"`,
		Question: "Drag the jump to a moment at which it does no harm.",
		Goal:     goal{Law: checker.LeaseExclusion, Outcome: "holds", Faults: true},
		Answer: "Before the key is set, or after it is gone, a jump changes nothing. In between, it removes a vote. " +
			"Both authors require that clocks never jump.",
	}, {
		Title: "A restart that forgets", Scenario: "restart-forgets",
		Words:    "A server that crashes and comes back without its keys votes again for a lock that is still in use.",
		Source:   redisDocs + `"Performance, crash recovery and fsync"`,
		Question: "Drag the end of the outage to the right until the promise holds. How soon can the server come back?",
		Goal:     goal{Law: checker.LeaseExclusion, Outcome: "holds", Faults: true},
		Answer: "As soon as every lease that it may have forgotten has ended. " +
			"This is the rule of the delayed restart: until then, the server must stay down.",
	}, {
		Title: "The delayed restart", Scenario: "delayed-restart",
		Words: "A server that stays down for a little more than the longest TTL never votes twice, " +
			"even without persistence.",
		Source: redisDocs + `"Performance, crash recovery and fsync"`,
		Question: "The server follows the rule here. " +
			"Drag the end of the outage to the left. How early must the server come back to break the promise?",
		Goal: goal{Law: checker.LeaseExclusion, Outcome: "violated", Faults: true},
		Answer: "The server must stay down for the whole lease and not a moment less. " +
			"Nothing in Redis enforces this for you.",
	}, {
		Title: "A packet that is late", Scenario: "kleppmann-late-write",
		Words: "No pause is needed: " +
			"a write that is under way for longer than the lease arrives after the next holder's write.",
		Source:   kleppmann + `"Protecting a resource with a lock"`,
		Question: "The setting faults.1.by is the delay of the message. Make it shorter, until the data is safe.",
		Goal:     goal{Law: checker.ResourceSafety, Outcome: "holds", Faults: true},
		Answer:   "The client had released the lock correctly. The network was late, and no lock can see that.",
	}, {
		Title: "Consensus is not enough", Scenario: "etcd-lease-pause",
		Words: "A lock on a consensus service withstands clock errors and crashes. " +
			"A client that pauses for longer than its lease is still inside.",
		Source:   antirez + `"GC pauses and other delays": this is true of every lock with a lease`,
		Question: "Find the setting resource.fencing, and turn it on. What happens to the data?",
		Goal:     goal{Law: checker.ResourceSafety, Outcome: "holds", Faults: true},
		Answer: "Two clients are still inside at once, but the data is safe: " +
			"the resource refuses the token of the superseded holder.",
	}, {
		Title: "Fencing", Scenario: "fenced-gc-pause",
		Words: "Each grant comes with a number, and the numbers only increase. " +
			"The resource refuses a number lower than the highest one seen.",
		Source:   kleppmann + `"Making the lock safe with fencing"`,
		Question: "The data is safe here despite the pause. Turn resource.fencing off.",
		Goal:     goal{Law: checker.ResourceSafety, Outcome: "violated", Faults: true},
		Answer: "The number alone does nothing: the resource that stores the data must compare it. " +
			"Then the lock may occasionally fail, and the data stays intact.",
	},
}
