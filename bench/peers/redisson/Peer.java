import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel.MapMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Measures Redisson for `holdfast bench`: what it is given and what it answers stands in docs/bench.md. */
public final class Peer {
  private final List<RedissonClient> clients = new ArrayList<>();
  private final String workload;
  private final String lock;
  private final int threads;
  private final int first;
  private final MappedByteBuffer guard;

  private Peer(String[] words) throws IOException {
    for (String server : words[1].split(",")) clients.add(connect(server));
    workload = words[2];
    lock = words[3];
    threads = Integer.parseInt(words[4]);
    first = Integer.parseInt(words[5]);
    guard = Set.of("handover", "processes", "fair").contains(workload) ? map(words[6]) : null;
  }

  public static void main(String[] words) throws Exception {
    String why = refusal(words[0], words[2]);
    if (why != null) {
      System.out.println("unsupported " + why);
      return;
    }
    // A thread that fails is the end of it all: nobody would hear from it.
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, failed) -> {
          failed.printStackTrace();
          Runtime.getRuntime().halt(1);
        });
    new Peer(words).listen();
    // The clients have threads of their own that would go on.
    Runtime.getRuntime().halt(0);
  }

  private static String refusal(String store, String workload) {
    if (store.equals("redis")) return null;
    if (!store.equals("redlock")) return "Redisson locks on redis alone";
    return workload.equals("fair") ? "Redisson's quorum lock is not fair" : null;
  }

  private static RedissonClient connect(String server) {
    Config config = new Config();
    config.useSingleServer().setAddress("redis://" + server);
    return Redisson.create(config);
  }

  private static MappedByteBuffer map(String path) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
      MappedByteBuffer mapped = file.getChannel().map(MapMode.READ_WRITE, 0, 16);
      mapped.order(ByteOrder.nativeOrder());
      return mapped;
    }
  }

  private void listen() throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = in.readLine(); line != null; line = in.readLine())
      System.out.print(measure(Long.parseLong(line.split(" ")[1])));
  }

  private String measure(long milliseconds) throws InterruptedException {
    List<Lock> locks = new ArrayList<>();
    for (int number = first; number < first + threads; ++number) locks.add(lockOf(number));
    long began = System.nanoTime();
    List<Worker> workers = new ArrayList<>();
    for (int i = 0; i < threads; ++i)
      workers.add(new Worker(locks.get(i), first + i, guard, began, began + milliseconds * 1_000_000));
    for (Worker worker : workers) worker.start();
    StringBuilder said = new StringBuilder();
    for (Worker worker : workers) {
      worker.join();
      said.append(worker.said()).append('\n');
    }
    return said.toString();
  }

  // Deprecated in favour of locks that wait for replicas, which is not the same; nothing else of Redisson's asks a quorum.
  @SuppressWarnings("deprecation")
  private Lock lockOf(int number) {
    String name = workload.equals("many") ? lock + "/" + number : lock;
    if (clients.size() == 1) return workload.equals("fair") ? clients.get(0).getFairLock(name) : clients.get(0).getLock(name);
    return new RedissonRedLock(clients.stream().map(client -> client.getLock(name)).toArray(RLock[]::new));
  }
}
