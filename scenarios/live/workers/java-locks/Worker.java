import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.util.SafeEncoder;

/**
 * A client of Fencepost for the Redis locks of Java: Worker LOCK, where LOCK is a name in `locks` below.
 *
 * Each entry makes one lock in the settings of its documentation, but with fewer threads and connections than by default.
 */
public class Worker {
    /** A lock that a library provides. */
    interface Held {
        /** Waits for the lock and returns a word that distinguishes this holding of it from others. */
        String lock() throws Exception;
        void unlock() throws Exception;
    }

    static final String name = told("LOCK");
    static final Map<String, Function<List<String>, Held>> locks = Map.of(
        "redisson", urls -> redisson(connected(urls.get(0)).getLock(name), 0),
        "redisson-lease", urls -> redisson(connected(urls.get(0)).getLock(name), ms("TTL")));
    static Jedis resource;

    /** A lock of Redisson, which its watchdog prolongs if lease is 0. */
    static Held redisson(RLock lock, int lease) {
        return new Held() {
            public String lock() {
                if (lease == 0) lock.lock(); else lock.lock(lease, TimeUnit.MILLISECONDS);
                return told("CLIENT") + "/" + System.nanoTime();
            }
            public void unlock() { lock.unlock(); }
        };
    }

    static RedissonClient connected(String url) {
        Config config = new Config();
        config.setLockWatchdogTimeout(ms("TTL")).setThreads(2).setNettyThreads(2);
        config.useSingleServer().setAddress(url).setConnectionMinimumIdleSize(1).setConnectionPoolSize(2);
        return Redisson.create(config);
    }

    static String told(String name) { return System.getenv("FENCEPOST_" + name); }

    static int ms(String name) { return Integer.parseInt(told(name + "_MS")); }

    public static void main(String[] args) throws Exception {
        List<String> urls = new ArrayList<>();
        for (int n = 1; told("REDIS_" + n) != null; n++) urls.add(told("REDIS_" + n));
        resource = new Jedis(URI.create(told("RESOURCE")), 0);
        Held lock = locks.get(args[0]).apply(urls);
        for (int n = 0; n < Integer.parseInt(told("CYCLES")); n++) section(n, lock);
        System.exit(0);
    }

    static void section(int n, Held lock) throws Exception {
        String held = null;
        while (held == null) {
            ask("FENCEPOST", "ACQUIRING", name);
            try {
                held = lock.lock();
            } catch (Exception error) { // a server that cannot be reached, or one that said no
                System.out.println("lock: " + error);
                ask("FENCEPOST", "FAILED", name);
                Thread.sleep(100 + (long) (100 * Math.random()));
            }
        }
        ask("FENCEPOST", "ACQUIRED", name, held);
        Object value = ask("READ", name);
        Thread.sleep(ms("COMPUTE"));
        String text = told("CLIENT") + "." + n + " after " + (value == null ? "" : SafeEncoder.encode((byte[]) value));
        ask("WRITE", name, text.substring(0, Math.min(60, text.length())));
        Thread.sleep(ms("HOLD"));
        ask("FENCEPOST", "RELEASING", name, held);
        try {
            lock.unlock();
            ask("FENCEPOST", "RELEASED", name, held);
        } catch (Exception error) {
            System.out.println("unlock: " + error);
            ask("FENCEPOST", "RELEASED", name, held, "UNKNOWN");
        }
    }

    static Object ask(String command, String... words) {
        return resource.sendCommand(() -> SafeEncoder.encode(command), words);
    }
}
