#pragma once

#include "child.hpp"

#include <map>
#include <string>
#include <vector>

namespace holdfast::cli::testing {

/// A program on a pseudo-terminal of its own, which leads its session: by default an interactive bash, what a user sees
/// who types at a prompt.
class terminal {
 public:
  explicit terminal(const std::map<std::string, std::string>& environment,
                    std::vector<std::string> program = {"bash", "--norc", "--noprofile", "--noediting", "-i"});
  ~terminal();
  terminal(const terminal&) = delete;

  void type(const std::string& text);
  void press_ctrl(char key) { type(std::string(1, static_cast<char>(key & 0x1f))); }
  /// Waits until `text` appears behind what earlier calls have found. What is typed is echoed: split such words
  /// (`re''ady`).
  bool sees(const std::string& text);
  const std::string& screen() const { return screen_; }
  /// Reads the screen until the program ends: its exit code, or -n for signal n.
  int wait();
  /// Pulls the plug.
  void hang_up();

 private:
  int master_ = -1;
  pid_t program_ = 0;
  std::string screen_;
  std::size_t seen_ = 0;
};

}  // namespace holdfast::cli::testing
