package nemesis

import "time"

func init() {
	grammar = append(grammar, grammarLine{"client pause on redis-1 for 3s at 2s",
		Fault{Kind: ClientPause, Target: "redis-1", For: 3 * time.Second, Trigger: Trigger{Time: 2 * time.Second}}})
}
