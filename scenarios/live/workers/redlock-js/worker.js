// A client of `fencepost live`: node-redlock guards a read and a write of the protected resource.
//
// Where there is a Sentinel, it tells the masters. With the argument "cluster", the servers form a Redis Cluster. With the argument
// "checks" it looks at the lock's expiration before it goes in.
import Redis from "ioredis"
import Redlock from "redlock"

const told = name => process.env["FENCEPOST_" + name]
const lock = told("LOCK"), ttl = Number(told("TTL_MS")), hold = Number(told("HOLD_MS"))
const sentinel = told("SENTINEL") && new URL(told("SENTINEL"))
const password = sentinel?.password // of all servers
const sentinels = [{host: sentinel?.hostname, port: sentinel?.port}]
const clustered = process.argv.includes("cluster"), nodes = []
for (let n = 1; clustered && told("REDIS_" + n); n++) nodes.push(told("REDIS_" + n))
const servers = clustered ? [new Redis.Cluster(nodes)] : []
for (let n = 1; !clustered && told((sentinel ? "MASTER_" : "REDIS_") + n); n++) {
  servers.push(new Redis(sentinel ? {sentinels, name: told("MASTER_" + n), password, sentinelPassword: password} : told("REDIS_" + n)))
}
servers.forEach(server => server.on("error", () => {})) // one that is gone
const resource = new Redis(told("RESOURCE"))
const report = (...words) => resource.call("FENCEPOST", ...words)
const redlock = new Redlock(servers, {retryCount: 0})
redlock.on("error", () => {}) // a server that said no
const sleep = ms => new Promise(done => setTimeout(done, ms))
const over = held => process.argv.includes("checks") && held.expiration <= Date.now()
await Promise.all(servers.map(server => server.ping())) // all are connected

for (let n = 0; n < Number(told("CYCLES")); n++) {
  await report("ACQUIRING", lock)
  const tried = () => redlock.acquire([lock], ttl).catch(() => null)
  let held = await tried()
  while (!held || over(held)) {
    await sleep(50 + 100 * Math.random())
    held = await tried()
  }
  await report("ACQUIRED", lock, held.value, "VALIDITY", held.expiration - Date.now())
  const value = await resource.call("READ", lock)
  await resource.call("WRITE", lock, `${told("CLIENT")}.${n} after ${value}`.slice(0, 60))
  await sleep(hold)
  await report("RELEASING", lock, held.value)
  const outcome = await held.release().then(() => [], () => ["REFUSED"])
  await report("RELEASED", lock, held.value, ...outcome)
}
process.exit(0)
