package libraries

import (
	_ "github.com/bsm/redislock"
	_ "github.com/go-redsync/redsync/v4"
	_ "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	_ "github.com/go-redsync/redsync/v4/redis/redigo"
	_ "github.com/gomodule/redigo/redis"
	_ "github.com/redis/go-redis/v9"
	_ "github.com/redis/rueidis"
	_ "github.com/redis/rueidis/rueidislock"
	_ "github.com/zeromicro/go-zero/core/stores/redis"
)
