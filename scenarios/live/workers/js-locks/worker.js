// A client of Fencepost for the Redis locks of JavaScript: worker.js LOCK, where LOCK is a name in `locks` below.
//
// Each function wraps one library in the settings of its documentation. acquire returns the owner value and, where the
// library says so, for how many ms the lock is valid; the client then writes only as long as it is valid.
import Redis from "ioredis"

const setting = name => process.env["FENCEPOST_" + name]
const name = setting("LOCK"), ttl = Number(setting("TTL_MS")), compute = Number(setting("COMPUTE_MS"))
const servers = []
for (let n = 1; setting("REDIS_" + n); n++) {
  servers.push(new Redis(setting("REDIS_" + n)))
  servers.at(-1).on("error", () => {}) // one that is gone
}
const resource = new Redis(setting("RESOURCE"))
const report = (...words) => resource.call("FENCEPOST", ...words)
const sleep = ms => new Promise(done => setTimeout(done, ms))

// redlock waits for its own retries, and then throws.
const redlock = async (module, given, acquire, release) => {
  const {default: whole, Redlock = whole.Redlock ?? whole} = await import(module)
  const manager = new Redlock(servers, given)
  manager.on("error", () => {}).on("clientError", () => {}) // a server that said no
  return {
    acquire: async () => {
      const lock = await manager[acquire](module === "redlock-4" ? name : [name], ttl)
      return {owner: lock.value, valid: lock.expiration - Date.now(), release: () => lock[release]()}
    },
  }
}

// redis-semaphore's locks extend themselves; onLockLost says that one is lost.
const semaphore = async (kind, from, given) => {
  const module = await import("redis-semaphore")
  return {
    acquire: async () => {
      const state = {lost: false}
      const lock = new module[kind](from, name.slice("mutex:".length),
        {lockTimeout: ttl, acquireTimeout: 3600000, onLockLost: () => { state.lost = true }, ...given})
      await lock.acquire()
      return {owner: lock.identifier, lost: () => state.lost, release: () => lock.release()}
    },
  }
}

// redlock-universal waits for its own retries, and then throws.
const universal = async (create, from) => {
  const {IoredisAdapter, ...module} = await import("redlock-universal")
  const adapters = from.map(server => new IoredisAdapter(server))
  const lock = module[create]({adapter: adapters[0], adapters, key: name, ttl})
  return {
    acquire: async () => {
      const handle = await lock.acquire()
      return {owner: handle.value, release: () => lock.release(handle)}
    },
  }
}

// BullMQ locks a job while a client processes it. All clients add the same job, and whoever completes it removes it. A
// client that fetches jobs itself must extend the lock itself, too: it does so as often as BullMQ's worker would.
const job = async () => {
  const {randomUUID} = await import("node:crypto"), {Queue, Worker} = await import("bullmq")
  const [, queue, id] = name.split(":") // of bull:QUEUE:ID:lock
  const connection = new Redis(setting("REDIS_1"), {maxRetriesPerRequest: null})
  const jobs = new Queue(queue, {connection})
  const worker = new Worker(queue, null, {connection, lockDuration: ttl, stalledInterval: ttl / 2})
  for (const part of [connection, jobs, worker]) part.on("error", () => {})
  await worker.startStalledCheckTimer()
  return {
    acquire: async () => {
      await jobs.add("section", {}, {jobId: id, removeOnComplete: true, removeOnFail: true})
      const owner = randomUUID(), taken = await worker.getNextJob(owner, {block: false})
      if (!taken) throw new Error("another client has the job")
      let lost = false, works = true
      const renewal = setInterval(async () => {
        const extended = await taken.extendLock(owner, ttl).catch(() => undefined)
        lost ||= extended === 0
        if (extended && works) await report("EXTENDED", name, owner)
      }, ttl / 2)
      const stop = () => {
        clearInterval(renewal)
        works = false
      }
      return {owner, lost: () => lost, stop, release: () => taken.moveToCompleted("done", owner, false)}
    },
  }
}

const locks = {
  "bullmq": job,
  "redlock-4": () => redlock("redlock-4", {}, "lock", "unlock"),
  "redlock-5": () => redlock("redlock-5", {}, "acquire", "release"),
  "sesamecare-redlock": () => redlock("@sesamecare-oss/redlock", {}, "acquire", "release"),
  "redis-semaphore": () => semaphore("Mutex", servers[0], {}),
  "redis-semaphore-redlock": () => semaphore("RedlockMutex", servers, {retryInterval: 100}),
  "redlock-universal": () => universal("createLock", servers),
  "redlock-universal-redlock": () => universal("createRedlock", servers),
}

const lock = await locks[process.argv[2]]()
await Promise.all(servers.map(server => server.ping())) // they are there

const take = async () => {
  for (;;) {
    await report("ACQUIRING", name)
    try {
      return await lock.acquire()
    } catch (error) { // a server that cannot be reached, or a lock that somebody else has
      console.log("acquire:", error.message)
    }
    await report("FAILED", name)
    await sleep(100 + 100 * Math.random())
  }
}

for (let n = 0; n < Number(setting("CYCLES")); n++) {
  const held = await take(), until = performance.now() + (held.valid ?? Infinity)
  await report("ACQUIRED", name, held.owner, ...(held.valid === undefined ? [] : ["VALIDITY", Math.floor(held.valid)]))
  const value = await resource.call("READ", name)
  await sleep(compute)
  if (held.lost?.()) await report("LOST", name, held.owner)
  else if (performance.now() < until) {
    await resource.call("WRITE", name, `${setting("CLIENT")}.${n} after ${value}`.slice(0, 60))
  }
  await sleep(Number(setting("HOLD_MS")))
  held.stop?.()
  await report("RELEASING", name, held.owner)
  const outcome = await held.release().then(() => [], error => (console.log("release:", error.message), ["UNKNOWN"]))
  await report("RELEASED", name, held.owner, ...outcome)
}
process.exit(0)
