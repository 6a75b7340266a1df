package play

import (
	"github.com/fencepost-sim/fencepost/checker"
)

// tourStop is a stop of the guided tour. It has a scenario, what the debate says about it, and a question that the
// reader answers by an experiment.
type tourStop struct {
	Title    string `json:"title"`
	Scenario string `json:"scenario"` // name of a scenario of the catalogue
	Words    string `json:"words"`    // paraphrase of what the document says
	Source   string `json:"source"`   // document and section
	Question string `json:"question"`
	Goal     goal   `json:"goal"`
	Answer   string `json:"answer"` // shown when the goal is reached
}

// goal is the outcome that the reader should bring about.
type goal struct {
	Law     checker.Law `json:"law"`
	Outcome string      `json:"outcome"`
	Faults  bool        `json:"faults"` // no fault may be removed: there must be as many as at the start
}

const (
	kleppmann = "Kleppmann, How to do distributed locking (2016), "
	antirez   = "Sanfilippo, Is Redlock safe? (2016), "
	redisDocs = "redis.io, Distributed Locks with Redis, "
)

// tour presents the debate of 2016 about Redlock in eight stops.
var tour = []tourStop{
	{
		Title: "A pause", Scenario: "kleppmann-gc-pause",
		Words: "A client takes the lock and then stops for longer than its lease, as a garbage collector can make " +
			"it. " +
			"The lock goes to another client. The first wakes up, knows nothing of it, and writes.",
		Source: kleppmann + `"Protecting a resource with a lock"`,
		Question: "Pull the right end of the pause to the left until no two clients are inside at once. How short " +
			"must it be?",
		Goal: goal{Law: checker.MutualExclusion, Outcome: "holds", Faults: true},
		Answer: "Just shorter than the lease. The lock itself never broke its promise: lease-exclusion held all the " +
			"time. But no client can promise not to pause.",
	}, {
		Title: "A pause that is noticed", Scenario: "pause-while-acquiring",
		Words: "A pause between asking and counting the votes does no harm, for Redlock looks at the clock again " +
			"before it believes to have the lock.",
		Source: antirez + `"GC pauses and other delays"`,
		Question: "The promise holds here. Drag the pause to the right, to where the client has the lock, until it " +
			"breaks.",
		Goal: goal{Law: checker.MutualExclusion, Outcome: "violated", Faults: true},
		Answer: "A second look helps before the lock is believed to be held, not after: no check comes after the " +
			"last " +
			"check.",
	}, {
		Title: "A clock that jumps", Scenario: "kleppmann-clock-jump",
		Words: "Redlock counts on clocks that run at about the same rate. A server whose clock is set forward " +
			"drops a " +
			"lease that is in use, and another majority forms.",
		Source:   kleppmann + `"Breaking Redlock with bad timings"`,
		Question: "Drag the jump to a moment at which it does no harm.",
		Goal:     goal{Law: checker.LeaseExclusion, Outcome: "holds", Faults: true},
		Answer: "Before the key is set, or after it is gone, a jump changes nothing. In between it takes a vote " +
			"away: " +
			"both authors ask that clocks never jump.",
	}, {
		Title: "A restart that forgets", Scenario: "restart-forgets",
		Words: "A server that crashes and comes back without its keys votes a second time for a lock that is still " +
			"in use.",
		Source:   redisDocs + `"Performance, crash recovery and fsync"`,
		Question: "Pull the end of the outage to the right until the promise holds. When may the server come back?",
		Goal:     goal{Law: checker.LeaseExclusion, Outcome: "holds", Faults: true},
		Answer: "Once every lease that it might have known is over: the rule of the delayed restart. Until then " +
			"it must stay away.",
	}, {
		Title: "The delayed restart", Scenario: "delayed-restart",
		Words:  "Who stays away for a little more than the longest TTL gives no vote twice, without any persistence.",
		Source: redisDocs + `"Performance, crash recovery and fsync"`,
		Question: "The rule is kept here. Pull the end of the outage to the left: how little too early is enough to " +
			"break it?",
		Goal: goal{Law: checker.LeaseExclusion, Outcome: "violated", Faults: true},
		Answer: "The rule holds to the length of the lease and not a moment less, and nothing in Redis keeps it " +
			"for you.",
	}, {
		Title: "A packet that is late", Scenario: "kleppmann-late-write",
		Words: "It takes no pause: a write that is under way for longer than the lease arrives after the next " +
			"holder's.",
		Source:   kleppmann + `"Protecting a resource with a lock"`,
		Question: "Among the settings is how late the message is, faults.1.by. Make it less, until the data are safe.",
		Goal:     goal{Law: checker.ResourceSafety, Outcome: "holds", Faults: true},
		Answer: "The client had given the lock back in good order. What was late was the network, and no lock " +
			"sees that.",
	}, {
		Title: "Consensus is not enough", Scenario: "etcd-lease-pause",
		Words: "A lock on a service that reaches consensus is safe from clocks and crashes. A client that pauses " +
			"past " +
			"its lease is inside all the same.",
		Source:   antirez + `"GC pauses and other delays": every lock with a lease has this`,
		Question: "Find the setting resource.fencing, and turn it on. What becomes of the data?",
		Goal:     goal{Law: checker.ResourceSafety, Outcome: "holds", Faults: true},
		Answer: "Two clients are still inside at once, and the data are safe: the resource refuses the token of the " +
			"one that was superseded.",
	}, {
		Title: "Fencing", Scenario: "fenced-gc-pause",
		Words: "With each lock comes a number that only grows, and the resource refuses a lower one than it has " +
			"seen.",
		Source:   kleppmann + `"Making the lock safe with fencing"`,
		Question: "The data are safe here, in spite of the pause. Turn resource.fencing off.",
		Goal:     goal{Law: checker.ResourceSafety, Outcome: "violated", Faults: true},
		Answer: "The number alone does nothing: whoever keeps the data must compare it. Then the lock may break now " +
			"and then, and the data stay whole.",
	},
}
