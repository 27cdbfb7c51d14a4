import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * A Java service that locks with Redisson as it is told: `THREAD COMMAND` a line, `THREAD REPLY` a line.
 *
 * Each thread named is one of Java's own, since Redisson's owners are threads, and runs its commands in order. The command
 * line has the server's address, the watchdog's timeout and the fair lock's wait timeout, both in milliseconds. See
 * Session for the commands.
 */
public final class Peer {
  private final RedissonClient client;
  private final Map<String, BlockingQueue<String>> inboxes = new HashMap<>();

  private Peer(RedissonClient client) {
    this.client = client;
  }

  public static void main(String[] words) throws IOException {
    Config config = new Config();
    config.setCodec(StringCodec.INSTANCE);
    config.setLockWatchdogTimeout(Long.parseLong(words[1]));
    config.setFairLockWaitTimeout(Long.parseLong(words[2]));
    config.setNettyThreads(4).setThreads(4);
    config.useSingleServer().setAddress(words[0]).setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
    Peer peer = new Peer(Redisson.create(config));
    say("ready");
    peer.listen();
    // Whoever gave the commands is gone: so is this, at once, as if killed.
    Runtime.getRuntime().halt(0);
  }

  private void listen() throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] parts = line.split(" ", 2);
      inboxes.computeIfAbsent(parts[0], this::start).add(parts[1]);
    }
  }

  private BlockingQueue<String> start(String name) {
    BlockingQueue<String> inbox = new LinkedBlockingQueue<>();
    Session session = new Session(client);
    Thread thread =
        new Thread(
            () -> {
              try {
                while (true) say(name + " " + session.run(inbox.take()));
              } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
              }
            },
            name);
    thread.setDaemon(true);
    thread.start();
    return inbox;
  }

  /** One write per line: whoever reads never sees two threads' replies mixed. */
  private static void say(String text) {
    PrintStream out = System.out;
    synchronized (out) {
      out.print(text + "\n");
      out.flush();
    }
  }
}
