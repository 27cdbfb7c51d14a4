import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The plain number in shared memory that holdfast::testing::shared_counter counts on: an increment not alone is lost. */
final class Counter {
  private final MappedByteBuffer number;

  Counter(String file) throws IOException {
    try (FileChannel channel =
        FileChannel.open(Path.of(file), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      number = channel.map(FileChannel.MapMode.READ_WRITE, 0, Long.BYTES);
    }
    number.order(ByteOrder.nativeOrder());
  }

  void increment() {
    long seen = number.getLong(0);
    Thread.yield();
    number.putLong(0, seen + 1);
  }
}
