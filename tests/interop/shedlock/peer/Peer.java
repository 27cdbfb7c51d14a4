import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A Java service that locks with ShedLock as it is told: `THREAD COMMAND` a line, `THREAD REPLY` a line.
 *
 * Each thread named is one of Java's own, with a connection of its own, and runs its commands in order. The command line
 * has the JDBC URL. See Session for the commands.
 */
public final class Peer {
  private final String url;
  private final Map<String, BlockingQueue<String>> inboxes = new HashMap<>();

  private Peer(String url) {
    this.url = url;
  }

  public static void main(String[] words) throws IOException {
    Peer peer = new Peer(words[0]);
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
    Session session = new Session(url);
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
