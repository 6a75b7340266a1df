// Command redsync is a client for `fencepost live`. It uses redsync to guard a read and a write of the protected
// resource.
//
// If there is a Sentinel, it tells the client which servers are masters. With the argument "checks", the client does
// not write if its lock has expired.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func env(name string) string { return os.Getenv("FENCEPOST_" + name) }

func millis(name string) time.Duration {
	n, err := strconv.Atoi(env(name))
	if err != nil {
		log.Fatal(err)
	}
	return time.Duration(n) * time.Millisecond
}

func options(name string) *redis.Options {
	o, err := redis.ParseURL(env(name))
	if err != nil {
		log.Fatal(err)
	}
	return o
}

func main() {
	ctx, name := context.Background(), env("LOCK")
	var pools []redsyncredis.Pool
	for n := 1; env("SENTINEL") == "" && env(fmt.Sprint("REDIS_", n)) != ""; n++ {
		pools = append(pools, goredis.NewPool(redis.NewClient(options(fmt.Sprint("REDIS_", n)))))
	}
	for n := 1; env(fmt.Sprint("MASTER_", n)) != ""; n++ {
		pools = append(pools, goredis.NewPool(redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: env(fmt.Sprint("MASTER_", n)), SentinelAddrs: []string{options("SENTINEL").Addr},
			SentinelPassword: options("SENTINEL").Password, Password: options("SENTINEL").Password}))) // for all
	}
	patient := options("RESOURCE") // a reply may take as long as a pause
	patient.ReadTimeout, patient.MaxRetries = -1, -1
	resource := redis.NewClient(patient)
	say := func(words ...any) any {
		answer, err := resource.Do(ctx, words...).Result()
		if err != nil {
			log.Fatal(err)
		}
		return answer
	}
	checks := slices.Contains(os.Args, "checks")
	cycles, _ := strconv.Atoi(env("CYCLES"))
	mutex := redsync.New(pools...).NewMutex(name, redsync.WithExpiry(millis("TTL_MS")))
	for n := range cycles {
		say("FENCEPOST", "ACQUIRING", name)
		for mutex.Lock() != nil {
		}
		held := mutex.Value()
		say("FENCEPOST", "ACQUIRED", name, held, "VALIDITY", time.Until(mutex.Until()).Milliseconds())
		say("READ", name)
		if time.Sleep(millis("HOLD_MS")); !checks || time.Now().Before(mutex.Until()) {
			say("WRITE", name, fmt.Sprint(env("CLIENT"), ".", n))
		}
		say("FENCEPOST", "RELEASING", name, held)
		if ok, err := mutex.Unlock(); ok && err == nil {
			say("FENCEPOST", "RELEASED", name, held)
		} else {
			say("FENCEPOST", "RELEASED", name, held, "REFUSED")
		}
	}
}
