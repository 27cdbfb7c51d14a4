import java.nio.MappedByteBuffer;
import java.util.concurrent.locks.Lock;

/** One thread's end of the lock. */
final class Worker extends Thread {
  private final Lock lock;
  private final long owner;
  private final MappedByteBuffer guard; // null: nobody else wants the lock
  private final long began;
  private final long deadline;
  private final StringBuilder waits = new StringBuilder();
  private long pairs;
  private long ended;

  Worker(Lock lock, int number, MappedByteBuffer guard, long began, long deadline) {
    this.lock = lock;
    this.owner = number + 1;
    this.guard = guard;
    this.began = began;
    this.deadline = deadline;
  }

  @Override
  public void run() {
    long asked = System.nanoTime();
    do {
      lock.lock();
      if (guard != null) count(asked);
      lock.unlock();
      ++pairs;
      asked = System.nanoTime();
    } while (asked - deadline < 0);
    ended = asked;
  }

  // Read first, write last: whoever else is inside meanwhile writes the same number.
  private void count(long asked) {
    long before = guard.getLong(0);
    long had = System.nanoTime();
    if (guard.getLong(8) != owner) {
      guard.putLong(8, owner);
      waits.append(' ').append(had - asked);
    }
    guard.putLong(0, before + 1);
  }

  /** Requires: it has ended. */
  String said() {
    return pairs + " " + (ended - began) + waits;
  }
}
