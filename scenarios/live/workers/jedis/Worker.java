import java.net.URI;
import java.util.Collections;
import java.util.UUID;

import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.util.SafeEncoder;

/**
 * A client of `fencepost live`: a lock on one Redis server, as the documentation of Redis describes it, guards a read and a write of
 * the protected resource. With the argument "checks" it looks at the wall clock before its write, and writes only while its lease lasts.
 */
public class Worker {
    static final String release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
    static final String name = found("LOCK");
    static Jedis server, resource;
    static boolean checks;

    static String found(String name) { return System.getenv("FENCEPOST_" + name); }

    static int ms(String name) { return Integer.parseInt(found(name + "_MS")); }

    public static void main(String[] args) throws Exception {
        checks = args.length > 0 && args[0].equals("checks");
        server = new Jedis(URI.create(found("REDIS_1")), 10_000);
        resource = new Jedis(URI.create(found("RESOURCE")), 0);
        server.ping(); // it is connected
        for (int n = 0; n < Integer.parseInt(found("CYCLES")); n++) section(n);
    }

    static void section(int n) throws InterruptedException {
        String held = UUID.randomUUID().toString();
        SetParams lease = SetParams.setParams().nx().px(ms("TTL"));
        ask("FENCEPOST", "ACQUIRING", name);
        long asked = System.currentTimeMillis();
        while (server.set(name, held, lease) == null) {
            Thread.sleep(50);
            asked = System.currentTimeMillis();
        }
        ask("FENCEPOST", "ACQUIRED", name, held);
        Object value = ask("READ", name);
        Thread.sleep(ms("COMPUTE"));
        String text = found("CLIENT") + "." + n + " after " + (value == null ? "" : SafeEncoder.encode((byte[]) value));
        if (!checks || System.currentTimeMillis() < asked + ms("TTL")) ask("WRITE", name, text.substring(0, Math.min(60, text.length())));
        Thread.sleep(ms("HOLD"));
        ask("FENCEPOST", "RELEASING", name, held);
        Object gone = server.eval(release, Collections.singletonList(name), Collections.singletonList(held));
        if (gone.equals(1L)) ask("FENCEPOST", "RELEASED", name, held); else ask("FENCEPOST", "RELEASED", name, held, "REFUSED");
    }

    static Object ask(String command, String... words) {
        return resource.sendCommand(() -> SafeEncoder.encode(command), words);
    }
}
