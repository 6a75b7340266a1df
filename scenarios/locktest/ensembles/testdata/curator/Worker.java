import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A client of Curator's InterProcessMutex: Worker.java HOST:PORT,... NAME SECTIONS. It prints ENTERED and LEAVING with the
 * time in ns, and with ENTERED the czxid of its znode, which is its fencing token. In the end it leads once by a LeaderLatch.
 */
public class Worker {
    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], 8000, 15000, new ExponentialBackoffRetry(100, 5));
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (!state.isConnected()) { // the lock may be another's
                System.out.println(state + " " + now());
            }
        });
        client.start();
        Mutex mutex = new Mutex(client, "/locks/lock");
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            mutex.acquire();
            try {
                System.out.println("ENTERED " + now() + " " + client.checkExists().forPath(mutex.znode()).getCzxid());
                TimeUnit.MILLISECONDS.sleep(50);
                System.out.println("LEAVING " + now());
            } finally {
                mutex.release();
            }
        }
        try (LeaderLatch latch = new LeaderLatch(client, "/leader", args[1])) {
            latch.start();
            latch.await();
            System.out.println("LEADS " + now() + " " + latch.getId());
        }
        client.close();
    }

    /** Mutex shows the path of its znode. */
    static class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        String znode() {
            return getLockPath();
        }
    }

    static long now() {
        return System.currentTimeMillis() * 1_000_000;
    }
}
