import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;

/**
 * What one thread does.
 *
 * <pre>
 * acquire KIND PATH [wait=MS] [of=N]     granted | busy     KIND: mutex read write permit
 * release KIND PATH                      ok
 * count KIND PATH LOOPS counter=FILE     counted LOOPS
 * revoke PATH                            ok                 asks the holder of a mutex for it
 * </pre>
 */
final class Session {
  private final CuratorFramework client;
  private final Map<String, InterProcessMutex> locks = new HashMap<>();
  private final Map<String, InterProcessReadWriteLock> pairs = new HashMap<>();
  private final Map<String, InterProcessSemaphoreV2> semaphores = new HashMap<>();
  private final Deque<Lease> leases = new ArrayDeque<>();

  Session(CuratorFramework client) {
    this.client = client;
  }

  String run(String line) {
    try {
      return answer(new Command(line));
    } catch (Exception failed) {
      return ("error " + failed).replace('\n', ' ');
    }
  }

  private String answer(Command c) throws Exception {
    switch (c.word(0)) {
      case "acquire":
        return acquire(c) ? "granted" : "busy";
      case "release":
        release(c);
        return "ok";
      case "count":
        return count(c);
      case "revoke":
        Collection<String> nodes = lock("mutex", c.word(1)).getParticipantNodes();
        Revoker.attemptRevoke(client, nodes.iterator().next());
        return "ok";
      default:
        throw new IllegalArgumentException("no such command: " + c.word(0));
    }
  }

  private InterProcessMutex lock(String kind, String path) {
    switch (kind) {
      case "mutex":
        return locks.computeIfAbsent(path, p -> new InterProcessMutex(client, p));
      case "read":
        return pairs.computeIfAbsent(path, p -> new InterProcessReadWriteLock(client, p)).readLock();
      case "write":
        return pairs.computeIfAbsent(path, p -> new InterProcessReadWriteLock(client, p)).writeLock();
      default:
        throw new IllegalArgumentException("no such kind of lock: " + kind);
    }
  }

  private boolean acquire(Command c) throws Exception {
    long wait = c.milliseconds("wait");
    long patience = wait < 0 ? 60000 : wait;
    if (!c.word(1).equals("permit")) return lock(c.word(1), c.word(2)).acquire(patience, TimeUnit.MILLISECONDS);
    int limit = Integer.parseInt(c.option("of"));
    InterProcessSemaphoreV2 semaphore =
        semaphores.computeIfAbsent(c.word(2), p -> new InterProcessSemaphoreV2(client, p, limit));
    Lease lease = semaphore.acquire(patience, TimeUnit.MILLISECONDS);
    if (lease != null) leases.push(lease);
    return lease != null;
  }

  private void release(Command c) throws Exception {
    if (c.word(1).equals("permit")) {
      leases.pop().close();
    } else {
      lock(c.word(1), c.word(2)).release();
    }
  }

  private String count(Command c) throws Exception {
    Counter counter = new Counter(c.option("counter"));
    int loops = c.number(3);
    for (int i = 0; i < loops; ++i) {
      if (!acquire(c)) return "error busy";
      counter.increment();
      release(c);
    }
    return "counted " + loops;
  }
}
