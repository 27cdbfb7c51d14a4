import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/**
 * What one thread does. ShedLock does not wait: with wait= it is asked again and again.
 *
 * <pre>
 * acquire NAME most=MS [least=MS] [wait=MS]      granted | busy
 * extend NAME most=MS                            granted | busy
 * release NAME                                   ok
 * count NAME LOOPS most=MS wait=MS counter=FILE  counted LOOPS
 * </pre>
 */
final class Session {
  private final LockProvider provider;
  private final Map<String, SimpleLock> held = new HashMap<>();

  Session(String url) {
    SingleConnectionDataSource database = new SingleConnectionDataSource(url, true);
    provider =
        new JdbcTemplateLockProvider(
            JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(database))
                .usingDbTime()
                .build());
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
      case "extend":
        Optional<SimpleLock> longer = held.get(c.word(1)).extend(time(c, "most"), Duration.ZERO);
        longer.ifPresent(lock -> held.put(c.word(1), lock));
        return longer.isPresent() ? "granted" : "busy";
      case "release":
        held.remove(c.word(1)).unlock();
        return "ok";
      case "count":
        return count(c);
      default:
        throw new IllegalArgumentException("no such command: " + c.word(0));
    }
  }

  private static Duration time(Command c, String key) {
    return Duration.ofMillis(Math.max(0, c.milliseconds(key)));
  }

  private boolean acquire(Command c) throws InterruptedException {
    long last = System.nanoTime() + time(c, "wait").toNanos();
    while (true) {
      Optional<SimpleLock> lock =
          provider.lock(new LockConfiguration(Instant.now(), c.word(1), time(c, "most"), time(c, "least")));
      if (lock.isPresent()) {
        held.put(c.word(1), lock.get());
        return true;
      }
      if (System.nanoTime() >= last) return false;
      Thread.sleep(5);
    }
  }

  private String count(Command c) throws Exception {
    Counter counter = new Counter(c.option("counter"));
    int loops = c.number(2);
    for (int i = 0; i < loops; ++i) {
      if (!acquire(c)) return "error busy";
      counter.increment();
      held.remove(c.word(1)).unlock();
    }
    return "counted " + loops;
  }
}
