package nemesis

import "time"

func init() {
	grammar = append(grammar,
		grammarLine{"evict key of lock on redis-2 at 3s",
			Fault{Kind: EvictKey, Lock: "lock", Target: "redis-2", Trigger: Trigger{Time: 3 * time.Second}}},
		grammarLine{"delete key of orders:1/a on redis-2 at 3s",
			Fault{Kind: DeleteKey, Lock: "orders:1/a", Target: "redis-2", Trigger: Trigger{Time: 3 * time.Second}}},
		grammarLine{"flush redis-1 at 3s", Fault{Kind: Flush, Target: "redis-1",
			Trigger: Trigger{Time: 3 * time.Second}}})
}
