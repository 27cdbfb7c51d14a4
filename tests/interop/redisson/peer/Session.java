import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;

/**
 * What one thread does.
 *
 * <pre>
 * acquire KIND NAME [wait=MS] [ttl=MS]   granted [TOKEN] | busy     KIND: lock fair fenced read write spin
 * release KIND NAME                      ok                               nonreentrant nonreentrant_fair (4.4), permits
 * force KIND NAME                        yes | no
 * locked KIND NAME                       yes | no
 * count KIND NAME LOOPS counter=FILE     counted LOOPS
 * set|add|take|give NAME N, available NAME, drain NAME              RSemaphore; take [wait=MS]
 * set_permits NAME N, available_permits NAME                        RPermitExpirableSemaphore
 * set_count NAME N, count_down NAME, count_of NAME, wait NAME [wait=MS]   open | closed     RCountDownLatch
 * </pre>
 */
final class Session {
  private final RedissonClient client;
  private final Map<String, String> permits = new HashMap<>();

  Session(RedissonClient client) {
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
        return c.word(1).equals("permits") ? acquirePermit(c) : acquire(c);
      case "release":
        return release(c);
      case "force":
        return lock(c).forceUnlock() ? "yes" : "no";
      case "locked":
        return lock(c).isLocked() ? "yes" : "no";
      case "count":
        return count(c);
      default:
        return new Numbers(client).answer(c);
    }
  }

  private RLock lock(Command c) throws Exception {
    String name = c.word(2);
    switch (c.word(1)) {
      case "lock":
        return client.getLock(name);
      case "fair":
        return client.getFairLock(name);
      case "fenced":
        return client.getFencedLock(name);
      case "spin":
        return client.getSpinLock(name);
      case "read":
        return client.getReadWriteLock(name).readLock();
      case "write":
        return client.getReadWriteLock(name).writeLock();
      case "nonreentrant":
        return newer("getNonReentrantLock", name);
      case "nonreentrant_fair":
        return newer("getNonReentrantFairLock", name);
      default:
        throw new IllegalArgumentException("no such kind of lock: " + c.word(1));
    }
  }

  /** What not every Redisson has that this is compiled with. */
  private RLock newer(String method, String name) throws Exception {
    try {
      return (RLock) RedissonClient.class.getMethod(method, String.class).invoke(client, name);
    } catch (InvocationTargetException failed) {
      throw (Exception) failed.getCause();
    }
  }

  private String acquire(Command c) throws Exception {
    RLock lock = lock(c);
    long wait = c.milliseconds("wait");
    long ttl = c.milliseconds("ttl");
    if (wait < 0 && ttl < 0 && lock instanceof RFencedLock) {
      return "granted " + ((RFencedLock) lock).lockAndGetToken();
    }
    if (wait < 0) {
      lock.lock(ttl, TimeUnit.MILLISECONDS);
      return "granted";
    }
    return lock.tryLock(wait, ttl, TimeUnit.MILLISECONDS) ? "granted" : "busy";
  }

  private String acquirePermit(Command c) throws Exception {
    RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(c.word(2));
    long wait = c.milliseconds("wait");
    long ttl = c.milliseconds("ttl");
    String id;
    if (wait < 0) {
      id = ttl < 0 ? semaphore.acquire() : semaphore.acquire(ttl, TimeUnit.MILLISECONDS);
    } else {
      id = semaphore.tryAcquire(wait, ttl, TimeUnit.MILLISECONDS);
    }
    if (id == null) return "busy";
    permits.put(c.word(2), id);
    return "granted " + id;
  }

  private String release(Command c) throws Exception {
    if (c.word(1).equals("permits")) {
      client.getPermitExpirableSemaphore(c.word(2)).release(permits.remove(c.word(2)));
    } else {
      lock(c).unlock();
    }
    return "ok";
  }

  private String count(Command c) throws Exception {
    Counter counter = new Counter(c.option("counter"));
    RLock lock = lock(c);
    int loops = c.number(3);
    for (int i = 0; i < loops; ++i) {
      lock.lock();
      try {
        counter.increment();
      } finally {
        lock.unlock();
      }
    }
    return "counted " + loops;
  }
}
