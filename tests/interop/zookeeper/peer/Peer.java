import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A Java service that locks with Curator as it is told: `THREAD COMMAND` a line, `THREAD REPLY` a line.
 *
 * Each thread named is one of Java's own, since Curator's owners are threads, and runs its commands in order. The command
 * line has the servers and the session's timeout in milliseconds. See Session for the commands.
 */
public final class Peer {
  private final CuratorFramework client;
  private final Map<String, BlockingQueue<String>> inboxes = new HashMap<>();

  private Peer(CuratorFramework client) {
    this.client = client;
  }

  public static void main(String[] words) throws IOException, InterruptedException {
    CuratorFramework client =
        CuratorFrameworkFactory.builder()
            .connectString(words[0])
            .sessionTimeoutMs(Integer.parseInt(words[1]))
            .connectionTimeoutMs(15000)
            .retryPolicy(new ExponentialBackoffRetry(100, 5))
            .build();
    client.start();
    client.blockUntilConnected();
    Peer peer = new Peer(client);
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
