import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A client of `fencepost live`: Curator's InterProcessMutex, or with the argument "latch" its LeaderLatch, guards a read and
 * a write of the protected resource. With "listens" it leaves a section as soon as Curator reports that its connection is
 * SUSPENDED or LOST, as Curator's documentation advises; a latch is asked whether it still leads, instead.
 */
public class Worker {
    static final String name = found("LOCK");
    static Resource resource;
    static boolean listens, latched;
    static volatile CountDownLatch away = new CountDownLatch(1);

    static String found(String name) { return System.getenv("FENCEPOST_" + name); }

    static int ms(String name) { return Integer.parseInt(found(name + "_MS")); }

    public static void main(String[] args) throws Exception {
        listens = Arrays.asList(args).contains("listens");
        latched = Arrays.asList(args).contains("latch");
        resource = new Resource(URI.create(found("RESOURCE")));
        CuratorFramework client = CuratorFrameworkFactory.newClient(found("ZOOKEEPER"), ms("TTL"), ms("TTL"),
            new ExponentialBackoffRetry(100, 10));
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (!state.isConnected()) away.countDown();
        });
        client.start();
        client.blockUntilConnected();
        for (int n = 0; n < Integer.parseInt(found("CYCLES")); n++) {
            String attempt = found("CLIENT") + "." + n;
            if (latched) lead(client, attempt); else lock(client, attempt);
        }
        client.close();
    }

    static void lock(CuratorFramework client, String attempt) throws Exception {
        InterProcessMutex mutex = new InterProcessMutex(client, "/locks/" + name);
        resource.ask("FENCEPOST", "ACQUIRING", name);
        mutex.acquire();
        section(attempt, () -> away.getCount() > 0);
        resource.ask("FENCEPOST", "RELEASING", name, attempt);
        try {
            mutex.release();
            resource.ask("FENCEPOST", "RELEASED", name, attempt);
        } catch (Exception e) {
            resource.ask("FENCEPOST", "RELEASED", name, attempt, "UNKNOWN");
        }
    }

    static void lead(CuratorFramework client, String attempt) throws Exception {
        LeaderLatch latch = new LeaderLatch(client, "/locks/" + name, attempt);
        resource.ask("FENCEPOST", "ACQUIRING", name);
        latch.start();
        latch.await();
        section(attempt, latch::hasLeadership);
        resource.ask("FENCEPOST", "RELEASING", name, attempt);
        latch.close();
        resource.ask("FENCEPOST", "RELEASED", name, attempt);
    }

    interface Holder { boolean holds(); }

    static void section(String attempt, Holder holder) throws Exception {
        away = new CountDownLatch(1);
        resource.ask("FENCEPOST", "ACQUIRED", name, attempt);
        String value = resource.ask("READ", name);
        if (works(ms("COMPUTE"), holder)) resource.ask("WRITE", name, attempt + " after " + value.substring(0, Math.min(40, value.length())));
        if (!works(ms("HOLD"), holder)) resource.ask("FENCEPOST", "LOST", name, attempt);
    }

    /** Works so long, and reports whether it may go on. */
    static boolean works(int ms, Holder holder) throws InterruptedException {
        if (listens) away.await(ms, TimeUnit.MILLISECONDS); else Thread.sleep(ms);
        return !listens || holder.holds();
    }

    /** Resource takes the reports, as commands of Redis. */
    static class Resource {
        final Socket socket;
        final DataInputStream in;

        Resource(URI at) throws IOException {
            socket = new Socket(at.getHost(), at.getPort());
            in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            ask("AUTH", at.getUserInfo().substring(1));
        }

        String ask(String... words) throws IOException {
            StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
            for (String w : words) text.append("$" + w.length() + "\r\n" + w + "\r\n"); // all of it is ASCII
            socket.getOutputStream().write(text.toString().getBytes(StandardCharsets.US_ASCII));
            String line = line();
            if (line.startsWith("-")) throw new IOException(line);
            return line.startsWith("$") && !line.equals("$-1") ? line() : line;
        }

        String line() throws IOException {
            StringBuilder b = new StringBuilder();
            for (int c = in.readUnsignedByte(); c != '\n'; c = in.readUnsignedByte()) if (c != '\r') b.append((char) c);
            return b.toString();
        }
    }
}
