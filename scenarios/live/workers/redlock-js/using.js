// A client of `fencepost live`: node-redlock's using() prolongs the lock while its routine works, and guards a read and a write of
// the protected resource. The routine writes only if the signal has not told it that the lock is lost. With the argument "timeout" a
// server that does not answer within a second counts as one that said no.
import Redis from "ioredis"
import Redlock from "redlock"

const told = name => process.env["FENCEPOST_" + name]
const lock = told("LOCK"), ttl = Number(told("TTL_MS"))
const servers = []
for (let n = 1; told("REDIS_" + n); n++) {
  servers.push(new Redis(told("REDIS_" + n), process.argv.includes("timeout") ? {commandTimeout: 1000} : {}))
  servers.at(-1).on("error", () => {}) // one that is gone
}
const resource = new Redis(told("RESOURCE"))
const report = (...words) => resource.call("FENCEPOST", ...words)
const sleep = ms => new Promise(done => setTimeout(done, ms))

// Reporting is Redlock, which also reports what using() does by itself.
class Reporting extends Redlock {
  async acquire(...given) {
    this.held = await super.acquire(...given)
    await report("ACQUIRED", lock, this.held.value, "VALIDITY", Math.max(0, this.held.expiration - Date.now()))
    return this.held
  }
  async extend(held, duration, settings) { // it does not wait for its reports, which a cut from the resource would hold up
    const next = await super.extend(held, duration, settings).catch(error => {
      report("EXTEND-FAILED", lock, held.value, "UNKNOWN")
      throw error
    })
    report("EXTENDED", lock, held.value, "VALIDITY", Math.max(0, next.expiration - Date.now()))
    return next
  }
  async release(held, settings) {
    await report("RELEASING", lock, held.value)
    const outcome = await super.release(held, settings).then(() => [], () => ["REFUSED"])
    await report("RELEASED", lock, held.value, ...outcome)
  }
}
const redlock = new Reporting(servers, {retryCount: 0}) // with retries, the expiration would count from the first try
await Promise.all(servers.map(server => server.ping())) // all are connected

for (let n = 0; n < Number(told("CYCLES")); n++) {
  await report("ACQUIRING", lock)
  for (redlock.held = null; !redlock.held; await sleep(50 + 100 * Math.random())) {
    await redlock.using([lock], ttl, async signal => {
      const value = await resource.call("READ", lock)
      await sleep(Number(told("COMPUTE_MS")))
      if (!signal.aborted) await resource.call("WRITE", lock, `${told("CLIENT")}.${n} after ${value}`.slice(0, 60))
      if (!signal.aborted) await sleep(Number(told("HOLD_MS")))
    }).catch(() => {}) // it did not get the lock
  }
}
process.exit(0)
