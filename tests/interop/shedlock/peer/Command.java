import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One line as it came: words in their places, and `key=value` pairs anywhere. */
final class Command {
  private final List<String> words = new ArrayList<>();
  private final Map<String, String> options = new HashMap<>();

  Command(String line) {
    for (String word : line.trim().split(" +")) {
      int equals = word.indexOf('=');
      if (equals < 0) {
        words.add(word);
      } else {
        options.put(word.substring(0, equals), word.substring(equals + 1));
      }
    }
  }

  String word(int index) {
    if (index >= words.size()) throw new IllegalArgumentException("word " + index + " is missing");
    return words.get(index);
  }

  int number(int index) {
    return index < words.size() ? Integer.parseInt(words.get(index)) : 1;
  }

  String option(String key) {
    String value = options.get(key);
    if (value == null) throw new IllegalArgumentException(key + "= is missing");
    return value;
  }

  /** Milliseconds; -1 if it was not given, for none. */
  long milliseconds(String key) {
    return Long.parseLong(options.getOrDefault(key, "-1"));
  }
}
