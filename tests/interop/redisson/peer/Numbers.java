import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** The commands of Session for what is a number in the store: semaphores and latches. */
final class Numbers {
  private final RedissonClient client;

  Numbers(RedissonClient client) {
    this.client = client;
  }

  String answer(Command c) throws Exception {
    switch (c.word(0)) {
      case "set_permits":
        return client.getPermitExpirableSemaphore(c.word(1)).trySetPermits(c.number(2)) ? "yes" : "no";
      case "available_permits":
        return "" + client.getPermitExpirableSemaphore(c.word(1)).availablePermits();
      case "set_count":
      case "count_down":
      case "count_of":
      case "wait":
        return latch(c);
      default:
        return semaphore(c);
    }
  }

  private String semaphore(Command c) throws Exception {
    RSemaphore semaphore = client.getSemaphore(c.word(1));
    switch (c.word(0)) {
      case "set":
        return semaphore.trySetPermits(c.number(2)) ? "yes" : "no";
      case "add":
        semaphore.addPermits(c.number(2));
        return "ok";
      case "give":
        semaphore.release(c.number(2));
        return "ok";
      case "available":
        return "" + semaphore.availablePermits();
      case "drain":
        return "" + semaphore.drainPermits();
      case "take":
        return take(semaphore, c);
      default:
        throw new IllegalArgumentException("no such command: " + c.word(0));
    }
  }

  private static String take(RSemaphore semaphore, Command c) throws InterruptedException {
    long wait = c.milliseconds("wait");
    if (wait >= 0) return semaphore.tryAcquire(c.number(2), java.time.Duration.ofMillis(wait)) ? "ok" : "busy";
    semaphore.acquire(c.number(2));
    return "ok";
  }

  private String latch(Command c) throws InterruptedException {
    RCountDownLatch latch = client.getCountDownLatch(c.word(1));
    switch (c.word(0)) {
      case "set_count":
        return latch.trySetCount(c.number(2)) ? "yes" : "no";
      case "count_down":
        latch.countDown();
        return "ok";
      case "count_of":
        return "" + latch.getCount();
      default:
        long wait = c.milliseconds("wait");
        if (wait >= 0) return latch.await(wait, TimeUnit.MILLISECONDS) ? "open" : "closed";
        latch.await();
        return "open";
    }
  }
}
