import static java.util.Map.entry;

import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;

import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

/**
 * A client of Fencepost for the locks of Java: Worker LOCK, where LOCK is a name in `locks` below.
 *
 * Each entry makes one lock in the settings of its documentation, but with fewer threads and connections than by default.
 */
public class Worker {
    /** A lock that a library provides. */
    interface Held {
        /** Waits for the lock. Returns its fencing token, or null if the library has none. */
        Long lock() throws Exception;
        void unlock() throws Exception;
        /** Reports whether the library has told the client that it may have lost the lock. */
        default boolean lost() { return false; }
    }

    static final String name = setting("LOCK");
    static final Map<String, Supplier<Held>> locks = Map.ofEntries(
        entry("redisson", () -> redisson(connected(1).getLock(name), 0)),
        entry("redisson-lease", () -> redisson(connected(1).getLock(name), seconds("TTL"))),
        entry("redisson-fair", () -> redisson(connected(1).getFairLock(name), seconds("TTL"))),
        entry("redisson-fenced", () -> fenced(connected(1).getFencedLock(name))),
        entry("redisson-write", () -> redisson(connected(1).getReadWriteLock(name).writeLock(), seconds("TTL"))),
        entry("redisson-multi", () -> redisson(multi(), seconds("TTL"))),
        entry("redisson-semaphore", () -> semaphore(connected(1).getSemaphore(name))),
        entry("redisson-permit", Permit::new),
        entry("curator", Mutex::new),
        entry("spring-integration", Worker::spring),
        entry("shedlock", () -> new Shed(false)),
        entry("shedlock-safe", () -> new Shed(true)));
    static Jedis resource;

    /** A lock of Redisson with a lease in seconds, or one that its watchdog prolongs if lease is 0. */
    static Held redisson(RLock lock, int lease) {
        return new Held() {
            public Long lock() {
                if (lease == 0) lock.lock(); else lock.lock(lease, TimeUnit.SECONDS);
                return null;
            }
            public void unlock() { lock.unlock(); }
        };
    }

    /** A fenced lock of Redisson. */
    static Held fenced(RFencedLock lock) {
        return new Held() {
            public Long lock() { return lock.lockAndGetToken(seconds("TTL"), TimeUnit.SECONDS); }
            public void unlock() { lock.unlock(); }
        };
    }

    /** Redisson's MultiLock of one lock on each server. */
    static RLock multi() {
        List<RedissonClient> clients = new ArrayList<>();
        for (int n = 1; setting("REDIS_" + n) != null; n++) clients.add(connected(n));
        return clients.get(0).getMultiLock(clients.stream().map(c -> c.getLock(name)).toArray(RLock[]::new));
    }

    /** A semaphore of Redisson that has one permit, without a lease. */
    static Held semaphore(RSemaphore semaphore) {
        return new Held() {
            public Long lock() throws Exception {
                semaphore.trySetPermits(1);
                semaphore.acquire();
                return null;
            }
            public void unlock() { semaphore.release(); }
        };
    }

    /** A semaphore of Redisson that has one permit, with a lease. The set of its permits is {NAME}:timeout. */
    static class Permit implements Held {
        final RPermitExpirableSemaphore semaphore =
            connected(1).getPermitExpirableSemaphore(name.substring(1, name.indexOf('}')));
        String permit;

        public Long lock() throws Exception {
            semaphore.trySetPermits(1);
            permit = semaphore.acquire(seconds("TTL"), TimeUnit.SECONDS);
            return null;
        }

        public void unlock() { semaphore.release(permit); }
    }

    /** The lock of Curator, with a listener, as its documentation recommends. */
    static class Mutex implements Held {
        final CuratorFramework client = CuratorFrameworkFactory.newClient(setting("ZOOKEEPER"), ms("TTL"), ms("TTL"),
            new ExponentialBackoffRetry(100, 10));
        final InterProcessMutex mutex = new InterProcessMutex(client, "/locks/" + name);
        volatile boolean lost;

        Mutex() {
            client.getConnectionStateListenable().addListener((c, state) -> lost |= !state.isConnected());
            client.start();
        }

        public Long lock() throws Exception {
            client.blockUntilConnected();
            lost = false;
            mutex.acquire();
            return null;
        }

        public void unlock() throws Exception { mutex.release(); }

        public boolean lost() { return lost; }
    }

    /** A lock of Spring Integration. Its key is REGISTRY:NAME. */
    static Held spring() {
        String[] parts = name.split(":");
        Lock lock = new RedisLockRegistry(factory(), parts[0], ms("TTL")).obtain(parts[1]);
        return new Held() {
            public Long lock() {
                lock.lock();
                return null;
            }
            public void unlock() { lock.unlock(); }
        };
    }

    /** The lock of ShedLock, which does not wait: the client tries again. Its key is job-lock:default:NAME. */
    static class Shed implements Held {
        final RedisLockProvider provider;
        SimpleLock held;

        Shed(boolean safeUpdate) {
            provider = new RedisLockProvider.Builder(factory()).safeUpdate(safeUpdate).build();
        }

        public Long lock() {
            Duration most = Duration.ofMillis(ms("TTL"));
            String job = name.substring(name.lastIndexOf(':') + 1);
            held = provider.lock(new LockConfiguration(Instant.now(), job, most, Duration.ZERO))
                .orElseThrow(() -> new IllegalStateException("another client has it"));
            return null;
        }

        public void unlock() { held.unlock(); }
    }

    /** The connections of Spring Data Redis, by Jedis. */
    static JedisConnectionFactory factory() {
        URI at = URI.create(setting("REDIS_1"));
        RedisStandaloneConfiguration config = new RedisStandaloneConfiguration(at.getHost(), at.getPort());
        config.setPassword(at.getUserInfo().substring(1));
        JedisConnectionFactory factory = new JedisConnectionFactory(config);
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    /** A client of Redisson, which connects when it is first used. */
    static RedissonClient connected(int server) {
        Config config = new Config();
        config.setLockWatchdogTimeout(ms("TTL")).setThreads(2).setNettyThreads(2).setLazyInitialization(true);
        config.useSingleServer().setAddress(setting("REDIS_" + server)).setConnectionMinimumIdleSize(1)
            .setConnectionPoolSize(2);
        return Redisson.create(config);
    }

    static String setting(String name) { return System.getenv("FENCEPOST_" + name); }

    static int seconds(String name) { return ms(name) / 1000; }

    static int ms(String name) { return Integer.parseInt(setting(name + "_MS")); }

    public static void main(String[] args) throws Exception {
        if (args.length == 0) rehearse();
        Held lock = locks.get(args[0]).get(); // before the first connection, so that all runs share the time that it takes
        resource = new Jedis(URI.create(setting("RESOURCE")), 0);
        for (int n = 0; n < Integer.parseInt(setting("CYCLES")); n++) section(n, lock);
        System.exit(0);
    }

    /**
     * Tries each lock without servers, for 3 s at most. install.sh archives the classes that this loads, so that workers
     * start faster.
     */
    static void rehearse() throws InterruptedException {
        for (Supplier<Held> lock : locks.values()) {
            Thread tries = new Thread(() -> {
                try {
                    lock.get().lock();
                } catch (Exception expected) {
                    System.out.println("rehearsal: " + expected);
                }
            });
            tries.start();
            tries.join(3000);
        }
        System.exit(0);
    }

    static void section(int n, Held lock) throws Exception {
        List<String> token = acquired(lock);
        String held = setting("CLIENT") + "/" + System.nanoTime(); // distinguishes this holding of the lock from others
        ask("FENCEPOST", with(token, "ACQUIRED", name, held));
        try {
            work(n, lock, token, held);
        } catch (JedisDataException refused) { // the resource has seen a higher token
            System.out.println("read: " + refused);
        }
        ask("FENCEPOST", "RELEASING", name, held);
        try {
            lock.unlock();
            ask("FENCEPOST", "RELEASED", name, held);
        } catch (Exception error) {
            System.out.println("unlock: " + error);
            ask("FENCEPOST", "RELEASED", name, held, "UNKNOWN");
        }
    }

    static void work(int n, Held lock, List<String> token, String held) throws Exception {
        Object value = ask("READ", with(token, name));
        Thread.sleep(ms("COMPUTE"));
        String text = setting("CLIENT") + "." + n + " after " + (value == null ? "" : SafeEncoder.encode((byte[]) value));
        if (lock.lost()) ask("FENCEPOST", "LOST", name, held);
        else ask("WRITE", with(token, name, text.substring(0, Math.min(60, text.length()))));
        Thread.sleep(ms("HOLD"));
    }

    /** Acquires the lock. Returns the words that state its fencing token; there are none if it has no token. */
    static List<String> acquired(Held lock) throws Exception {
        while (true) {
            ask("FENCEPOST", "ACQUIRING", name);
            try {
                Long token = lock.lock();
                return token == null ? List.of() : List.of("TOKEN", token.toString());
            } catch (Exception error) { // a server that cannot be reached, or one that said no
                System.out.println("lock: " + error);
                ask("FENCEPOST", "FAILED", name);
                Thread.sleep(100 + (long) (100 * Math.random()));
            }
        }
    }

    static String[] with(List<String> token, String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(token);
        return all.toArray(new String[0]);
    }

    static Object ask(String command, String... words) {
        return resource.sendCommand(() -> SafeEncoder.encode(command), words);
    }
}
